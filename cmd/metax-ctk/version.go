// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"
)

// buildVersion is set by the linker (Makefile).
var buildVersion string

// toolkitVersion is the one the Makefile states, or else the module's.
func toolkitVersion() string {
	if buildVersion != "" {
		return buildVersion
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

func (t toolkit) versionCommand() *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "print the version",
		Action: func(c *cli.Context) error {
			v := struct {
				Version string `json:"version"`
				Go      string `json:"go"`
				OS      string `json:"os"`
				Arch    string `json:"arch"`
			}{Version: toolkitVersion(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
			return t.printResult(c, v, fmt.Sprintf("metax-ctk %s (%s, %s/%s)\n", v.Version, v.Go, v.OS, v.Arch))
		},
	}
}
