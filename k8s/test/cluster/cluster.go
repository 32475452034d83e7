// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

// Fixtures are the directories that all clusters read; the script with makes them.
type Fixtures struct {
	// Root is the unpacked system of the node.
	Root string
	// Built has Kubernetes' programs and helm.
	Built string
	// Bin has the programs of this source tree and of the tests, and in images OCI layouts for
	// the registry.
	Bin string
	// CRIO has crio and pinns. It is empty where no node with CRI-O is wanted.
	CRIO string
	// Kubernetes is the version of its programs.
	Kubernetes *version.Version
}

// Environment reads the fixtures from the environment.
func Environment() (Fixtures, error) {
	f := Fixtures{
		Root: os.Getenv("METAX_K8S_ROOT"), Built: os.Getenv("METAX_K8S_BUILT"), Bin: os.Getenv("METAX_K8S_BIN"),
		CRIO: os.Getenv("METAX_K8S_CRIO"),
	}
	var err error
	f.Kubernetes, err = version.ParseGeneric(os.Getenv("METAX_K8S_VERSION"))
	if f.Root == "" || f.Built == "" || f.Bin == "" || err != nil || os.Getuid() != 0 {
		return Fixtures{}, errors.New("the programs of the cluster are not there, or this is not root: start with k8s/test/cluster/with")
	}
	return f, nil
}

// AtLeast reports whether Kubernetes is of a version such as 1.30 or newer.
func (f Fixtures) AtLeast(v string) bool { return f.Kubernetes.AtLeast(version.MustParseGeneric(v)) }

// Cluster is a running cluster. Programs on its node are started with Run and Command.
type Cluster struct {
	*sandbox.Sandbox
	// Client is the administrator's.
	Client kubernetes.Interface
	// Config is that of Client, for other clients.
	Config *rest.Config

	// Engine is the engine of the kubelet, and the name of its daemon.
	Engine string

	fixtures Fixtures
	daemons  map[string]*sandbox.Daemon
}

var clusters atomic.Int32

// Start starts a cluster whose node has an engine, and the GPUs of a simulated node such as
// c500-8. It returns when pods can start. The calling program must begin as sandbox.Start
// demands.
func Start(ctx context.Context, f Fixtures, engine, node string) (*Cluster, error) {
	box, err := sandbox.Start(sandbox.Config{
		Root: f.Root, Bin: f.Bin, Built: f.Built, Layout: layout(),
		Cgroup: fmt.Sprintf("metax-k8s-%d-%d", os.Getpid(), clusters.Add(1)),
	})
	if err != nil {
		return nil, err
	}
	c := &Cluster{Sandbox: box, Engine: engine, fixtures: f, daemons: map[string]*sandbox.Daemon{}}
	if err := c.start(ctx, node); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context, node string) error {
	if err := c.furnish(ctx, node); err != nil {
		return err
	}
	if err := c.connect(); err != nil {
		return err
	}
	if err := c.launchEngine(ctx); err != nil {
		return err
	}
	for _, p := range c.programs() {
		if err := c.launch(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// connect makes the client. It goes through a proxy that listens on a socket in the file
// system, since the API server is in another network.
func (c *Cluster) connect() error {
	c.Config = &rest.Config{
		Host: "http://localhost", QPS: -1,
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", c.Path(proxySocket))
		},
	}
	var err error
	c.Client, err = kubernetes.NewForConfig(c.Config)
	return err
}

// launch starts a daemon of the node, with its log in /var/log.
func (c *Cluster) launch(ctx context.Context, p program) error {
	name := filepath.Base(p.argv[0])
	if p.name != "" {
		name = p.name
	}
	if err := c.WriteFile("/var/log/"+name+".log", ""); err != nil {
		return err
	}
	log, err := os.OpenFile(c.Path("/var/log/"+name+".log"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	d := &sandbox.Daemon{
		Command: func() *exec.Cmd { return c.Command(context.Background(), p.argv[0], p.argv[1:]...) },
		Ready:   func(ctx context.Context) error { return p.ready(ctx, c) },
		Log:     log,
	}
	c.daemons[name] = d
	if err := d.Start(ctx); err != nil {
		return fmt.Errorf("start %s: %w; end of its log:\n%s", name, err, d.Tail(20))
	}
	return nil
}

// Daemon returns a daemon of the node by the name of its program, such as kubelet.
func (c *Cluster) Daemon(name string) *sandbox.Daemon { return c.daemons[name] }

// Command prepares a process on the node that finds all programs, and the cluster.
func (c *Cluster) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	return c.Sandbox.Command(ctx, []string{
		"PATH=" + sandbox.BinDir + ":" + sandbox.BuiltDir + ":/usr/sbin:/usr/bin:/sbin:/bin",
		"KUBECONFIG=" + dir + "/admin.conf",
	}, name, args...)
}

// Run runs a program on the node that must succeed, and returns its standard output.
func (c *Cluster) Run(ctx context.Context, name string, args ...string) (string, error) {
	out, err := c.Command(ctx, name, args...).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	if err != nil {
		return "", fmt.Errorf("run %s: %w", strings.Join(append([]string{name}, args...), " "), err)
	}
	return string(out), nil
}

// Eventually asks until the answer is nil, and returns the last one if the context ends
// before.
func Eventually(ctx context.Context, ask func(context.Context) error) error {
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}
