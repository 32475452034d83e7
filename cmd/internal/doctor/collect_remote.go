package doctor

import (
	"context"
	"net/url"
	"strings"

	"github.com/metax-ctk/container-toolkit/cmd/internal/dockerhost"
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

// dockerRemote is nil where docker's client talks to a daemon of this host.
func dockerRemote(getenv func(string) string) (*Remote, error) {
	address, origin, err := dockerhost.Endpoint(dockerhost.Asked{Getenv: getenv})
	if err != nil || !elsewhere(address) {
		return nil, err
	}
	undo := "docker context use default"
	if name, _, _ := strings.Cut(origin, " "); strings.HasPrefix(name, "DOCKER_") {
		undo = "unset " + name
	}
	return &Remote{"docker", bare(address), origin, undo}, nil
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
