// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/metax-ctk/container-toolkit/internal/ps"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// askContainerd asks metax-ctk what the containerd at the address knows.
func (s *session) askContainerd(ctx context.Context, address string) (ps.Occupancy, error) {
	return s.askToolkit(ctx, "containerd", address)
}

// askKubelet asks metax-ctk what the kubelet knows.
func (s *session) askKubelet(ctx context.Context) (ps.Occupancy, error) {
	return s.askToolkit(ctx, usage.Kubernetes, "")
}

// askToolkit runs metax-ctk, which links gRPC, for what the engine at the endpoint knows.
func (s *session) askToolkit(ctx context.Context, engine, endpoint string) (told ps.Occupancy, err error) {
	path, err := toolkitPath()
	if err != nil {
		return told, err
	}
	text, err := s.output(ctx, path, "--root", s.settings.Root.Text, "ps", "--source", engine, "-o", "json")
	if err != nil {
		return told, err
	}
	if err := json.Unmarshal(text, &told); err != nil {
		return told, fmt.Errorf("read the answer of %s: %w", path, err)
	}
	return told, told.Answered(engine, endpoint)
}

// toolkitPath is the metax-ctk that was installed with this program.
func toolkitPath() (string, error) {
	if self, err := os.Readlink("/proc/self/exe"); err == nil {
		beside := filepath.Join(filepath.Dir(self), "metax-ctk")
		if _, err := os.Stat(beside); err == nil {
			return beside, nil
		}
	}
	path, err := exec.LookPath("metax-ctk")
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return "", errors.New("metax-ctk is not installed beside metax-docker")
	}
	return path, err
}
