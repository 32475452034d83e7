// SPDX-License-Identifier: Apache-2.0

// Command vendorlike is a device plugin as simple as that of another vendor: it offers GPUs
// under the name metax-tech.com/gpu, picks none itself, and gives a container their device
// nodes.
//
//	vendorlike ROOT UUID=NODE,NODE ...
//
// NODE is a path such as /dev/dri/card1, whose device is below ROOT on the host.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const socket = "vendorlike.sock"

func main() {
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "vendorlike:", err)
		os.Exit(1)
	}
}

func run(root string, args []string) error {
	p := plugin{root: root, nodes: map[string][]string{}}
	for _, arg := range args {
		uuid, nodes, _ := strings.Cut(arg, "=")
		p.nodes[uuid] = strings.Split(nodes, ",")
	}
	at := filepath.Join(api.DevicePluginPath, socket)
	os.Remove(at) // of a plugin that was killed
	listener, err := net.Listen("unix", at)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	api.RegisterDevicePluginServer(server, p)
	ended := make(chan error)
	go func() { ended <- server.Serve(listener) }()
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	if err := register(); err != nil {
		return err
	}
	fmt.Println("registered")
	select {
	case err := <-ended:
		return err
	case <-term:
		server.Stop() // removes the socket
		return nil
	}
}

func register() error {
	connection, err := grpc.NewClient("unix://"+api.KubeletSocket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err = api.NewRegistrationClient(connection).Register(ctx, &api.RegisterRequest{
		Version: api.Version, Endpoint: socket, ResourceName: "metax-tech.com/gpu",
	})
	return err
}

type plugin struct {
	api.UnimplementedDevicePluginServer
	root  string
	nodes map[string][]string // by UUID
}

func (plugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{}, nil
}

func (p plugin) ListAndWatch(_ *api.Empty, stream grpc.ServerStreamingServer[api.ListAndWatchResponse]) error {
	var list []*api.Device
	for uuid := range p.nodes {
		list = append(list, &api.Device{ID: uuid, Health: api.Healthy})
	}
	if err := stream.Send(&api.ListAndWatchResponse{Devices: list}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

func (p plugin) Allocate(_ context.Context, request *api.AllocateRequest) (*api.AllocateResponse, error) {
	response := &api.AllocateResponse{}
	for _, container := range request.ContainerRequests {
		answer := &api.ContainerAllocateResponse{Devices: []*api.DeviceSpec{p.device("/dev/mxcd")}}
		for _, uuid := range container.DevicesIds {
			for _, node := range p.nodes[uuid] {
				answer.Devices = append(answer.Devices, p.device(node))
			}
		}
		response.ContainerResponses = append(response.ContainerResponses, answer)
	}
	return response, nil
}

func (p plugin) device(node string) *api.DeviceSpec {
	return &api.DeviceSpec{HostPath: filepath.Join(p.root, node), ContainerPath: node, Permissions: "rw"}
}
