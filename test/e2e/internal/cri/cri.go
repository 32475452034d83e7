// SPDX-License-Identifier: Apache-2.0

// Package cri talks to an engine as the kubelet does, through the Container Runtime
// Interface: one pod in the host's network, and containers in it that run to their end. It
// pulls no images and knows nothing of GPUs but the names it passes on.
package cri

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Client is a connection to an engine.
type Client struct {
	conn    *grpc.ClientConn
	runtime api.RuntimeServiceClient
}

// Dial returns a client for the engine that listens on the unix socket.
func Dial(socket string) (*Client, error) {
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	return &Client{conn, api.NewRuntimeServiceClient(conn)}, nil
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Version returns the engine's name and version, such as "containerd" and "2.1.9".
func (c *Client) Version(ctx context.Context) (name, version string, err error) {
	v, err := c.runtime.Version(ctx, &api.VersionRequest{})
	if err != nil {
		return "", "", err
	}
	return v.RuntimeName, v.RuntimeVersion, nil
}

// pods counts the pods of this process, no two of which have the same name.
var pods atomic.Int64

// Pod is a running pod sandbox.
type Pod struct {
	client *Client
	id     string
	config *api.PodSandboxConfig
}

// Pod starts a pod whose containers go below the cgroup parent.
func (c *Client) Pod(ctx context.Context, parent string) (*Pod, error) {
	return c.PodBy(ctx, parent, "")
}

// PodBy is Pod by a runtime handler, as a RuntimeClass names it; "" is the default one.
func (c *Client) PodBy(ctx context.Context, parent, handler string) (*Pod, error) {
	name := fmt.Sprintf("e2e%d", pods.Add(1))
	config := &api.PodSandboxConfig{
		Metadata: &api.PodSandboxMetadata{Name: name, Uid: name, Namespace: "default"},
		Linux: &api.LinuxPodSandboxConfig{
			CgroupParent: parent,
			SecurityContext: &api.LinuxSandboxSecurityContext{
				// No network of its own, so no CNI plugins are needed.
				NamespaceOptions: &api.NamespaceOption{Network: api.NamespaceMode_NODE, Pid: api.NamespaceMode_CONTAINER},
			},
		},
	}
	pod, err := c.runtime.RunPodSandbox(ctx, &api.RunPodSandboxRequest{Config: config, RuntimeHandler: handler})
	if err != nil {
		return nil, fmt.Errorf("run a pod: %w", err)
	}
	return &Pod{c, pod.PodSandboxId, config}, nil
}

// Name is the pod's own, in the namespace "default".
func (p *Pod) Name() string { return p.config.Metadata.Name }

// Container is what to run in a pod.
type Container struct {
	// Name is unique in the pod.
	Name    string
	Image   string
	Command []string
	// CDI are qualified names of CDI devices.
	CDI []string
	// Annotations are the container's, which reach the low-level runtime where the engine
	// is configured so.
	Annotations map[string]string
	// Mounts are directories of the engine's file system by their path in the container.
	Mounts map[string]string
	// User is the numeric user and group, 0 for the image's own.
	User int64
}

// Running is a container that was started.
type Running struct {
	client *Client
	id     string
}

// Start creates and starts a container.
func (p *Pod) Start(ctx context.Context, c Container) (*Running, error) {
	config := &api.ContainerConfig{
		Metadata: &api.ContainerMetadata{Name: c.Name},
		Image:    &api.ImageSpec{Image: c.Image},
		Command:  c.Command,

		Annotations: c.Annotations,
		Labels: map[string]string{ // as the kubelet names a container
			"io.kubernetes.pod.namespace":  p.config.Metadata.Namespace,
			"io.kubernetes.pod.name":       p.config.Metadata.Name,
			"io.kubernetes.container.name": c.Name,
		},
		Linux: &api.LinuxContainerConfig{SecurityContext: &api.LinuxContainerSecurityContext{NamespaceOptions: p.config.Linux.SecurityContext.NamespaceOptions}},
	}
	if c.User != 0 {
		config.Linux.SecurityContext.RunAsUser = &api.Int64Value{Value: c.User}
		config.Linux.SecurityContext.RunAsGroup = &api.Int64Value{Value: c.User}
	}
	for inside, outside := range c.Mounts {
		config.Mounts = append(config.Mounts, &api.Mount{ContainerPath: inside, HostPath: outside})
	}
	for _, name := range c.CDI {
		config.CDIDevices = append(config.CDIDevices, &api.CDIDevice{Name: name})
	}
	created, err := p.client.runtime.CreateContainer(ctx, &api.CreateContainerRequest{PodSandboxId: p.id, Config: config, SandboxConfig: p.config})
	if err != nil {
		return nil, fmt.Errorf("create container %s: %w", c.Name, err)
	}
	if _, err := p.client.runtime.StartContainer(ctx, &api.StartContainerRequest{ContainerId: created.ContainerId}); err != nil {
		return nil, fmt.Errorf("start container %s: %w", c.Name, err)
	}
	return &Running{p.client, created.ContainerId}, nil
}

// Stop sends SIGTERM, and SIGKILL after the grace, as deleting a pod does.
func (r *Running) Stop(ctx context.Context, grace time.Duration) error {
	_, err := r.client.runtime.StopContainer(ctx, &api.StopContainerRequest{ContainerId: r.id, Timeout: int64(grace.Seconds())})
	return err
}

// Wait waits for the end of the container and returns its exit code.
func (r *Running) Wait(ctx context.Context) (int, error) {
	for {
		answer, err := r.client.runtime.ContainerStatus(ctx, &api.ContainerStatusRequest{ContainerId: r.id})
		if err != nil {
			return 0, err
		}
		if answer.Status.State == api.ContainerState_CONTAINER_EXITED {
			return int(answer.Status.ExitCode), nil
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}
