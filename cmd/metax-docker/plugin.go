// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
)

// pluginName is the name under which docker runs this program as its plugin: docker metax.
const pluginName = "metax"

// metadataCommand is the command by which docker asks its plugins what they are.
const metadataCommand = "docker-cli-plugin-metadata"

// originalCLI is the variable that has the docker that runs a plugin.
const originalCLI = "DOCKER_CLI_PLUGIN_ORIGINAL_CLI_COMMAND"

// isPlugin reports whether a program of this name is docker's plugin.
func isPlugin(name string) bool { return filepath.Base(name) == "docker-"+pluginName }

// printMetadata prints what docker asks of a plugin.
func printMetadata(out io.Writer) error {
	text, err := json.Marshal(struct{ SchemaVersion, Vendor, Version, ShortDescription, URL string }{
		SchemaVersion: "0.1.0", Vendor: "MetaX container toolkit", Version: ourVersion(),
		ShortDescription: "Docker with MetaX GPUs",
		URL:              "https://github.com/metax-ctk/container-toolkit",
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n", text)
	return err
}

// unwrapPlugin makes the line of a plugin that of metax-docker. Its client is the docker that
// runs it, whatever the configuration says.
func (w *wrapper) unwrapPlugin() {
	w.Args = dockerargs.Plugin(w.Args, pluginName, dockerargs.Docker())
	w.settings.DockerClient = config.Value{
		Text:   cmp.Or(w.Getenv(originalCLI), "docker"),
		Origin: "the docker that runs this plugin",
	}
}
