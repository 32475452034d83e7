package doctor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// remoteFacts find engines that the asker's environment chooses on other hosts,
// where the GPUs of this one do not exist. It concerns the asker, not the root.
func remoteFacts(_ context.Context, c Config, _ *Facts) (func(*Facts), error) {
	if !c.Here {
		return nil, nil
	}
	var all []Remote
	docker, err := dockerRemote(c.Getenv)
	if docker != nil {
		all = append(all, *docker)
	}
	if host := c.Getenv("CONTAINER_HOST"); elsewhere(host) {
		all = append(all, Remote{"podman", bare(host), "CONTAINER_HOST", "unset CONTAINER_HOST"})
	}
	return func(f *Facts) { f.Engines.Remotes = all }, err
}

// dockerRemote follows the order of docker's client: DOCKER_HOST, DOCKER_CONTEXT,
// the current context.
func dockerRemote(getenv func(string) string) (*Remote, error) {
	if host := getenv("DOCKER_HOST"); host != "" {
		if !elsewhere(host) {
			return nil, nil
		}
		return &Remote{"docker", bare(host), "DOCKER_HOST", "unset DOCKER_HOST"}, nil
	}
	dir := getenv("DOCKER_CONFIG")
	if dir == "" && getenv("HOME") != "" {
		dir = filepath.Join(getenv("HOME"), ".docker")
	}
	if dir == "" {
		return nil, nil
	}
	name, origin, undo := getenv("DOCKER_CONTEXT"), "DOCKER_CONTEXT", "unset DOCKER_CONTEXT"
	if name == "" {
		var config struct {
			CurrentContext string `json:"currentContext"`
		}
		if err := decodeFile(filepath.Join(dir, "config.json"), &config); err != nil {
			return nil, err
		}
		name, origin, undo = config.CurrentContext, "the current docker context", "docker context use default"
	}
	if name == "" || name == "default" {
		return nil, nil
	}
	var meta struct {
		Endpoints map[string]struct{ Host string }
	}
	sum := sha256.Sum256([]byte(name))
	if err := decodeFile(filepath.Join(dir, "contexts", "meta", hex.EncodeToString(sum[:]), "meta.json"), &meta); err != nil {
		return nil, err
	}
	if host := meta.Endpoints["docker"].Host; elsewhere(host) {
		return &Remote{"docker", bare(host), origin + " " + name, undo}, nil
	}
	return nil, nil
}

// decodeFile reads a JSON file of the asker's; one that is not there says nothing.
func decodeFile(path string, into any) error {
	text, err := absent(os.ReadFile(path))
	if err != nil || text == nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// elsewhere tells whether an engine's address may be on another host.
func elsewhere(address string) bool {
	return address != "" && !strings.HasPrefix(address, "unix://") && !strings.HasPrefix(address, "/")
}

// bare is the address without a password.
func bare(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Redacted()
	}
	return "an address that cannot be read"
}
