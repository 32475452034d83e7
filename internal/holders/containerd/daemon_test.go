// SPDX-License-Identifier: Apache-2.0

package containerd_test

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	containersapi "github.com/containerd/containerd/api/services/containers/v1"
	namespacesapi "github.com/containerd/containerd/api/services/namespaces/v1"
	tasksapi "github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/api/types/task"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// daemon speaks so much of containerd's API as a look needs; the rest is
// unimplemented.
type daemon struct {
	namespaces []string
	containers map[string][]*containersapi.Container // by namespace
	tasks      map[string]*task.Process              // by namespace/ID
	// broken are the answers to "" (the namespaces), a namespace (its containers), and
	// namespace/ID (a task). Nil stands for silence.
	broken map[string]error
}

// serve starts the daemon and returns its socket.
func (d daemon) serve(t testing.TB) string {
	t.Helper()
	address := filepath.Join(t.TempDir(), "c.sock")
	listener, err := net.Listen("unix", address)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	namespacesapi.RegisterNamespacesServer(server, namespaceService{daemon: d})
	containersapi.RegisterContainersServer(server, containerService{daemon: d})
	tasksapi.RegisterTasksServer(server, taskService{daemon: d})
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	return address
}

func (d daemon) fault(ctx context.Context, key string) error {
	err, broken := d.broken[key]
	if broken && err == nil {
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

type namespaceService struct {
	namespacesapi.UnimplementedNamespacesServer
	daemon
}

func (s namespaceService) List(ctx context.Context, _ *namespacesapi.ListNamespacesRequest) (*namespacesapi.ListNamespacesResponse, error) {
	answer := new(namespacesapi.ListNamespacesResponse)
	for _, name := range s.namespaces {
		answer.Namespaces = append(answer.Namespaces, &namespacesapi.Namespace{Name: name})
	}
	return answer, s.fault(ctx, "")
}

type containerService struct {
	containersapi.UnimplementedContainersServer
	daemon
}

func (s containerService) ListStream(_ *containersapi.ListContainersRequest, stream containersapi.Containers_ListStreamServer) error {
	name, err := namespaces.NamespaceRequired(stream.Context())
	if err != nil {
		return err
	}
	for _, c := range s.containers[name] {
		if err := stream.Send(&containersapi.ListContainerMessage{Container: c}); err != nil {
			return err
		}
	}
	return s.fault(stream.Context(), name)
}

type taskService struct {
	tasksapi.UnimplementedTasksServer
	daemon
}

func (s taskService) Get(ctx context.Context, r *tasksapi.GetRequest) (*tasksapi.GetResponse, error) {
	name, err := namespaces.NamespaceRequired(ctx)
	if err != nil {
		return nil, err
	}
	key := name + "/" + r.ContainerID
	if err := s.fault(ctx, key); err != nil {
		return nil, err
	}
	process, ok := s.tasks[key]
	if !ok {
		return nil, status.Errorf(codes.NotFound, "task %s not found", r.ContainerID)
	}
	return &tasksapi.GetResponse{Process: process}, nil
}
