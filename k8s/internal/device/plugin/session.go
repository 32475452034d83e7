// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// Why a session ends.
var (
	errKubeletStarted = errors.New("the kubelet made its socket again")
	errStreamEnded    = errors.New("the kubelet no longer follows the list of devices")
	errSocketGone     = errors.New("the plugin's socket was removed")
	errForgotten      = errors.New("the kubelet holds no device for healthy, as if the plugin had ended")
	errNotAsked       = errors.New("the kubelet registered the plugin but did not ask for its devices")
)

const (
	// askTime is the time in which the kubelet connects and asks for the devices; it gives
	// itself 10 s to connect.
	askTime = 15 * time.Second
	// lookTime is how often the sockets are looked at, in case the kernel drops an event, and
	// how often the kubelet is asked what it knows.
	lookTime = 10 * time.Second
	// eventTime is how long after an event in the directory the kubelet is asked: when another
	// plugin of the resource ends, the kubelet drops this one with it, and keeps its stream.
	eventTime = time.Second
	// socketPrefix is how the names of sockets begin.
	socketPrefix = "metax-gpu-device-"
	// endTime is the time that calls have to finish in when a session ends.
	endTime = 5 * time.Second
)

// session serves, registers, and watches until the plugin has to register again. It returns
// why, or ctx's error; the Server counts as registered after it, if the kubelet asked for the
// devices.
func (s *Server) session(ctx context.Context) (err error) {
	watch, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch %s: %w", s.Dir, err)
	}
	defer watch.Close()
	if err := watch.Add(s.Dir); err != nil {
		return fmt.Errorf("watch %s: %w", s.Dir, err)
	}
	if err := s.waitForKubelet(ctx, watch); err != nil {
		return err
	}
	kubelet, err := os.Stat(s.kubeletSocket())
	if err != nil {
		return err
	}
	s.removeDead()
	own, err := s.listen()
	if err != nil {
		return err
	}
	follow := newFollowers()
	server := grpc.NewServer()
	v1beta1.RegisterDevicePluginServer(server, service{Server: s, followers: follow})
	// If it fails, the kubelet gets no answer, which register, askTime or checkKnown finds.
	go func() { _ = server.Serve(own.listener) }()
	defer func() {
		follow.stop()
		stop(server)
		own.remove()
	}()
	if err := s.register(ctx, own.name()); err != nil {
		return err
	}
	asked := time.NewTimer(askTime)
	defer asked.Stop()
	look := time.NewTicker(lookTime)
	defer look.Stop()
	var event <-chan time.Time
	for begun := follow.begun; ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-begun:
			begun = nil
			asked.Stop()
			s.registered.Store(true)
			s.Log.Info("registered", "resource", s.Resource, "socket", own.name())
		case <-asked.C:
			return errNotAsked
		case <-follow.ended:
			return errStreamEnded
		case e := <-watch.Events:
			if event == nil && filepath.Ext(e.Name) == filepath.Ext(own.path) { // not the kubelet's checkpoint
				event = time.After(eventTime)
			}
		case <-watch.Errors: //nolint:errcheck // events were lost; the sockets are looked at below
		case <-event:
			event = nil
			err = s.checkKnown(ctx)
		case <-look.C:
			err = s.checkKnown(ctx)
		}
		if err != nil {
			return err
		}
		if !own.exists() {
			return errSocketGone
		}
		if now, err := os.Stat(s.kubeletSocket()); err == nil && !same(kubelet, now) {
			return errKubeletStarted
		}
	}
}

// checkKnown fails with errForgotten if the session is registered and lists healthy devices,
// but the kubelet has none.
func (s *Server) checkKnown(ctx context.Context) error {
	devices, _ := s.list()
	if s.Known == nil || !s.Registered() ||
		!slices.ContainsFunc(devices, func(d *v1beta1.Device) bool { return d.Health == v1beta1.Healthy }) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	if ids, err := s.Known(ctx); err != nil || len(ids) > 0 {
		return nil // a kubelet that cannot be asked is not a reason
	}
	return errForgotten
}

// waitForKubelet waits until the kubelet's socket is there.
func (s *Server) waitForKubelet(ctx context.Context, watch *fsnotify.Watcher) error {
	look := time.NewTicker(lookTime)
	defer look.Stop()
	for said := false; ; said = true {
		_, err := os.Stat(s.kubeletSocket())
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if !said {
			s.Log.Info("waiting for the kubelet", "socket", s.kubeletSocket())
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-watch.Events:
		case <-watch.Errors: //nolint:errcheck // events were lost; the socket is looked for again
		case <-look.C:
			if _, err := os.Stat(s.Dir); err != nil {
				return err // the watch is of a directory that is gone
			}
		}
	}
}

// register tells the kubelet the name of the socket. The kubelet connects to it and asks for
// options before it answers.
func (s *Server) register(ctx context.Context, endpoint string) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	conn, err := grpc.NewClient("unix://"+s.kubeletSocket(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("connect to the kubelet: %w", err)
	}
	defer conn.Close()
	_, err = v1beta1.NewRegistrationClient(conn).Register(ctx, &v1beta1.RegisterRequest{
		Version: v1beta1.Version, Endpoint: endpoint, ResourceName: s.Resource, Options: options(),
	})
	if err != nil {
		return fmt.Errorf("register %s: %w", s.Resource, err)
	}
	return nil
}

// socket is the socket of one session.
type socket struct {
	path     string
	info     fs.FileInfo
	listener net.Listener
}

// listen makes a socket with a name that nobody else uses.
func (s *Server) listen() (*socket, error) {
	path := filepath.Join(s.Dir, socketPrefix+rand.Text()[:12]+".sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("make the plugin's socket: %w", err)
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false) // remove looks first whose it is
	info, err := os.Lstat(path)
	if err != nil {
		listener.Close()
		return nil, fmt.Errorf("make the plugin's socket: %w", err)
	}
	return &socket{path, info, listener}, nil
}

// removeDead removes the sockets of plugins that were killed: nobody listens there.
func (s *Server) removeDead() {
	found, _ := filepath.Glob(filepath.Join(s.Dir, socketPrefix+"*.sock")) // the pattern is a good one
	for _, path := range found {
		conn, err := net.DialTimeout("unix", path, endTime)
		if err == nil {
			conn.Close()
		} else if errors.Is(err, syscall.ECONNREFUSED) {
			os.Remove(path)
		}
	}
}

func (s *socket) name() string { return filepath.Base(s.path) }

// exists reports whether the socket is still there, and is this one.
func (s *socket) exists() bool {
	now, err := os.Lstat(s.path)
	return err == nil && same(s.info, now)
}

// same reports whether two looks found the same socket. A file system gives the number of a
// removed file to the next; nothing but its making changes the time of a socket.
func same(a, b fs.FileInfo) bool { return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) }

func (s *socket) remove() {
	s.listener.Close()
	if s.exists() {
		os.Remove(s.path)
	}
}

// stop lets calls finish for a while.
func stop(server *grpc.Server) {
	limit := time.AfterFunc(endTime, server.Stop)
	defer limit.Stop()
	server.GracefulStop()
}
