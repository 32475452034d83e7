// SPDX-License-Identifier: Apache-2.0

package dockerd

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
)

// defaultEndpoint is the daemon of docker's client by default.
const defaultEndpoint = "unix:///var/run/docker.sock"

// ClientOptions are the command line and the environment of docker's client, as far as
// they select the daemon.
type ClientOptions struct {
	Host      string // -H, --host; the last one
	Context   string // -c, --context
	ConfigDir string // --config
	Getenv    func(string) string
}

// Endpoint returns the address of the daemon that docker's client would talk to, and
// the origin of that choice, in the client's order: --context, --host, DOCKER_HOST,
// DOCKER_CONTEXT, the current context of config.json. It talks to no daemon.
func Endpoint(o ClientOptions) (address, origin string, err error) {
	if o.Context == "" {
		if o.Host != "" {
			return normalise(o.Host), "--host", nil
		}
		if host := o.Getenv("DOCKER_HOST"); host != "" {
			return normalise(host), "DOCKER_HOST", nil
		}
	}
	dir := o.configDir()
	context, origin := o.Context, "--context"
	if context == "" {
		context, origin = o.Getenv("DOCKER_CONTEXT"), "DOCKER_CONTEXT"
	}
	if context == "" {
		context = currentContext(dir)
		origin = "the current docker context"
	}
	if context == "" || context == "default" {
		return defaultEndpoint, "default", nil
	}
	address, err = contextHost(dir, context)
	return address, fmt.Sprintf("%s %q", origin, context), err
}

// normalise adds docker's default scheme to an address without one.
func normalise(host string) string {
	switch {
	case strings.Contains(host, "://"):
		return host
	case strings.HasPrefix(host, "/"):
		return "unix://" + host
	}
	return "tcp://" + host
}

// configDir is docker's configuration directory; empty if it cannot be found.
func (o ClientOptions) configDir() string {
	if o.ConfigDir != "" {
		return o.ConfigDir
	}
	if dir := o.Getenv("DOCKER_CONFIG"); dir != "" {
		return dir
	}
	home := o.Getenv("HOME")
	if home == "" {
		if u, err := user.Current(); err == nil {
			home = u.HomeDir
		}
	}
	if home == "" {
		return ""
	}
	return filepath.Join(home, ".docker")
}

// currentContext is the context that docker's configuration names. A file that cannot
// be read counts as empty, as it does for docker, which reports that itself.
func currentContext(dir string) string {
	if dir == "" {
		return ""
	}
	//nolint:gosec // G304: dir is DOCKER_CONFIG or ~/.docker, as for docker, and is read with the user's rights
	data, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		return ""
	}
	var config struct {
		CurrentContext string `json:"currentContext"`
	}
	if err := json.Unmarshal(data, &config); err != nil {
		return ""
	}
	return config.CurrentContext
}

// contextHost reads the address from the context's metadata, in a directory named by
// the digest of the context's name.
func contextHost(dir, name string) (string, error) {
	path := filepath.Join(dir, "contexts", "meta", digest(name), "meta.json")
	data, err := os.ReadFile(path) //nolint:gosec // G304: below the same directory; the name in it is a digest
	if err != nil {
		return "", fmt.Errorf("read docker context %q: %w (docker context ls)", name, err)
	}
	var meta struct {
		Endpoints map[string]struct{ Host string }
	}
	if err := json.Unmarshal(data, &meta); err != nil {
		return "", fmt.Errorf("read docker context %s: %w", path, err)
	}
	if host := meta.Endpoints["docker"].Host; host != "" {
		return normalise(host), nil
	}
	return defaultEndpoint, nil
}

func digest(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}
