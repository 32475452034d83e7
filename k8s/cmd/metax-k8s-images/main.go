// Command metax-k8s-images brings the images and charts behind it to a cluster without internet.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/k8s/internal/archive"
	"github.com/metax-ctk/container-toolkit/k8s/internal/program"
)

// buildVersion is set when the program is built.
var buildVersion = "unknown"

func main() { program.Main(newApp(), buildVersion) }

func newApp() *cli.App {
	const files = "[FILE...]"
	return &cli.App{
		Name: "metax-k8s-images", Usage: "images and charts for a cluster without internet",
		Description:     "FILE is what \"docker save\" wrote, also compressed with gzip or xz, such as MetaX's images with drivers and MXMACA: its images count as if they were in this file.",
		HideHelpCommand: true,
		Commands: []*cli.Command{
			{Name: "list", Usage: "shows what is in this file", ArgsUsage: " ", Action: list},
			{
				Name: "push", Usage: "pushes images and charts to a registry", ArgsUsage: "DOMAIN/PROJECT " + files, Action: push,
				Description: "Log in before, with \"docker login\" or \"helm registry login\".",
				Flags:       []cli.Flag{&cli.BoolFlag{Name: "plain-http", Usage: "the registry has no TLS"}},
			},
			{
				Name: "load", Usage: "loads the images into the engine of this node, where there is no registry", ArgsUsage: files, Action: load,
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "engine", Value: "containerd", Usage: "`NAME` of the engine: " + strings.Join(archive.Engines(), ", ")},
					&cli.StringFlag{Name: "project", Value: "ghcr.io/metax-ctk", Usage: "`DOMAIN/PROJECT` before the names of the images, the value registry of the charts"},
				},
			},
			{Name: "charts", Usage: "writes the charts to a directory", ArgsUsage: "DIR", Action: charts},
			{
				Name: "add", Usage: "writes a file like this one that also has other images", ArgsUsage: files, Action: add,
				Flags: []cli.Flag{&cli.StringFlag{Name: "to", Usage: "`FILE` to write, which must not exist", Required: true}},
			},
		},
		ExitErrHandler: func(*cli.Context, error) {},
		OnUsageError:   func(_ *cli.Context, err error, _ bool) error { return err },
	}
}

// content is what is in this file and in others.
type content struct {
	parts   []archive.Part
	self    *os.File
	program int64
	dir     string // of what was unpacked
}

func open(ctx context.Context, files []string) (c content, err error) {
	if c.self, err = os.Open("/proc/self/exe"); err != nil {
		return c, err
	}
	info, err := c.self.Stat()
	if err != nil {
		return c, err
	}
	if c.parts, c.program, err = archive.Open(c.self, info.Size()); err != nil {
		return c, err
	}
	if c.dir, err = os.MkdirTemp("", "metax-k8s-images-"); err != nil {
		return c, err
	}
	for _, file := range files {
		more, err := archive.Saved(ctx, file, c.dir)
		if err != nil {
			return c, err
		}
		c.parts = append(c.parts, more...)
	}
	return c, nil
}

func (c content) close() {
	c.self.Close()
	if c.dir != "" {
		os.RemoveAll(c.dir)
	}
}

// with calls do with the content, and removes afterwards what was unpacked.
func with(c *cli.Context, files []string, do func(content) error) error {
	all, err := open(c.Context, files)
	defer all.close()
	if err != nil {
		return err
	}
	return do(all)
}

func list(c *cli.Context) error {
	return with(c, nil, func(all content) error {
		for _, p := range all.parts {
			kind := "image"
			if p.IsChart() {
				kind = "chart"
			}
			fmt.Fprintf(c.App.Writer, "%s %s\n", kind, p)
		}
		return nil
	})
}

func said(c *cli.Context) func(string) {
	return func(reference string) { fmt.Fprintln(c.App.Writer, reference) }
}

func push(c *cli.Context) error {
	if !c.Args().Present() {
		return fmt.Errorf("push DOMAIN/PROJECT: name the registry, such as hub.example.com/metax")
	}
	return with(c, c.Args().Tail(), func(all content) error {
		to := strings.TrimSuffix(c.Args().First(), "/")
		if err := archive.Push(c.Context, all.parts, to, c.Bool("plain-http"), said(c)); err != nil {
			return err
		}
		fmt.Fprintf(c.App.Writer, "to install: helm install oci://%s/metax-operator -n metax-operator --create-namespace --generate-name --wait --set registry=%s\n", to, to)
		return nil
	})
}

func load(c *cli.Context) error {
	return with(c, c.Args().Slice(), func(all content) error {
		return archive.Load(c.Context, all.parts, c.String("engine"), c.String("project"), runtime.GOARCH, said(c))
	})
}

func charts(c *cli.Context) error {
	if c.Args().Len() != 1 {
		return fmt.Errorf("charts DIR: name one directory")
	}
	return with(c, nil, func(all content) error {
		files, err := archive.Charts(all.parts, c.Args().First())
		for _, file := range files {
			fmt.Fprintln(c.App.Writer, file)
		}
		return err
	})
}

func add(c *cli.Context) (err error) {
	if !c.Args().Present() {
		return fmt.Errorf("add FILE...: name what is to be added")
	}
	return with(c, c.Args().Slice(), func(all content) (err error) {
		to, err := os.OpenFile(c.String("to"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
		if err != nil {
			return err
		}
		err = archive.Write(to, all.self, all.program, all.parts)
		if closed := to.Close(); err == nil {
			err = closed
		}
		if err != nil {
			os.Remove(c.String("to"))
		}
		return err
	})
}
