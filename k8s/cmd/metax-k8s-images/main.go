// SPDX-License-Identifier: Apache-2.0

// Command metax-k8s-images brings the images and charts behind it to a cluster without
// internet.
package main

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/k8s/internal/archive"
	"github.com/metax-ctk/container-toolkit/k8s/internal/program"
)

// buildVersion is set when the program is built.
var buildVersion = "unknown"

func main() { program.Main(newApp(), buildVersion) }

func example(command string) string { return "Example: ./metax-k8s-images.1.2.3.amd64.run " + command }

func newApp() *cli.App {
	const files = "[FILE...]"
	return &cli.App{
		Name: "metax-k8s-images", Usage: "images and charts for a cluster without internet",
		Description:     "The exit code is 0, or 1 after an error.\n\nFILE is what \"docker save\" wrote, also compressed with gzip or xz, such as MetaX's images with drivers and MXMACA: its images count as if they were in this file.",
		HideHelpCommand: true,
		Commands: []*cli.Command{
			{
				Name: "list", Usage: "shows what is in this file", ArgsUsage: " ", Action: list,
				Description: example("list"),
			},
			{
				Name: "push", Usage: "pushes images and charts to a registry", ArgsUsage: "DOMAIN/PROJECT " + files, Action: push,
				Description: "Log in before, with \"docker login\" or \"helm registry login\".\n\n" +
					example("push hub.example.com/metax maca.tar.xz"),
				Flags: []cli.Flag{&cli.BoolFlag{Name: "plain-http", Usage: "the registry has no TLS"}},
			},
			{
				Name: "load", Usage: "loads the images into the engine of this node, where there is no registry", ArgsUsage: files,
				Action:      load,
				Description: example("load --engine docker"),
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "engine", Value: "containerd", Usage: "`NAME` of the engine: " +
						strings.Join(archive.Engines(), ", ")},
					&cli.StringFlag{
						Name: "project", Value: "ghcr.io/metax-ctk",
						Usage: "`DOMAIN/PROJECT` before the names of the images, the value registry of the charts",
					},
				},
			},
			{
				Name: "charts", Usage: "writes the charts to a directory", ArgsUsage: "DIR", Action: charts,
				Description: example("charts ."),
			},
			{
				Name: "add", Usage: "writes a file like this one that also has other images", ArgsUsage: files, Action: add,
				Description: example("add --to with-maca.run maca.tar.xz"),
				Flags: []cli.Flag{&cli.StringFlag{
					Name: "to", Usage: "`FILE` to write, which must not exist",
					Required: true,
				}},
			},
		},
		ExitErrHandler: func(*cli.Context, error) {},
		OnUsageError:   func(_ *cli.Context, err error, _ bool) error { return err },
	}
}

// with calls do with what is in this file and in others.
func with(c *cli.Context, files []string, do func(*archive.File) error) error {
	f, err := archive.OpenSelf(c.Context, files)
	if err != nil {
		return err
	}
	return errors.Join(do(f), f.Close())
}

func list(c *cli.Context) error {
	return with(c, nil, func(f *archive.File) error {
		for _, p := range f.Parts {
			kind := "image"
			if p.IsChart() {
				kind = "chart"
			}
			fmt.Fprintf(c.App.Writer, "%s %s\n", kind, p)
		}
		return nil
	})
}

func printer(c *cli.Context) func(string) {
	return func(reference string) { fmt.Fprintln(c.App.Writer, reference) }
}

func push(c *cli.Context) error {
	if !c.Args().Present() {
		return errors.New("name the registry, as in: push hub.example.com/metax")
	}
	return with(c, c.Args().Tail(), func(f *archive.File) error {
		to := strings.TrimSuffix(c.Args().First(), "/")
		if err := archive.Push(c.Context, f.Parts, to, c.Bool("plain-http"), printer(c)); err != nil {
			return err
		}
		fmt.Fprintf(c.App.Writer,
			"to install: helm install oci://%s/metax-operator -n metax-operator --create-namespace --generate-name --wait --set registry=%s\n", to, to)
		return nil
	})
}

func load(c *cli.Context) error {
	return with(c, c.Args().Slice(), func(f *archive.File) error {
		return archive.Load(c.Context, f.Parts, c.String("engine"), c.String("project"), runtime.GOARCH, printer(c))
	})
}

func charts(c *cli.Context) error {
	if c.Args().Len() != 1 {
		return errors.New("name one directory that exists, as in: charts /tmp")
	}
	return with(c, nil, func(f *archive.File) error {
		files, err := archive.Charts(f.Parts, c.Args().First())
		for _, file := range files {
			fmt.Fprintln(c.App.Writer, file)
		}
		return err
	})
}

func add(c *cli.Context) error {
	if !c.Args().Present() {
		return errors.New("name the files to add, as in: add --to new.run maca.tar")
	}
	return with(c, c.Args().Slice(), func(f *archive.File) error { return f.Save(c.String("to")) })
}
