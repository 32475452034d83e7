// SPDX-License-Identifier: Apache-2.0

package enginesetup

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
	"github.com/metax-ctk/container-toolkit/internal/backup"
	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/setup"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
)

// Dir is the directory of the host with the programs, and what the engines' files were before.
// The programs keep their paths when they are replaced, so that a new version changes no
// engine.
const Dir = protocol.HookDir + "/runtime"

const (
	runtimeName = "metax-runtime"
	hookName    = "metax-hook"
)

// Engines are those of one host.
type Engines struct {
	Root *hostfs.Root
	// Run runs a program of the host.
	Run func(ctx context.Context, program string, args ...string) ([]byte, error)
	// Programs is the directory of this image with the programs for the host.
	Programs string
	// Default makes metax the runtime of containers that name none.
	Default bool
	Log     *slog.Logger
}

// The reasons of reports.
const (
	Host          = report.Host     // an engine has a metax-runtime that somebody else installed
	NoEngine      = "NoEngine"      // none was found
	NameTaken     = "NameTaken"     // another program has the name metax
	Refused       = "Refused"       // an engine cannot be set up as it is
	Changed       = "Changed"       // somebody changed what was set up
	RestartNeeded = "RestartNeeded" // by hand
	RestartFailed = report.RestartFailed
	InUse         = "InUse"  // containers use what is to be taken back
	Failed        = "Failed" // any other error
)

// runtimePath is the path of metax-runtime on the host.
func runtimePath() string { return path.Join(Dir, runtimeName) }

// hostAndOrder is the node tool's view of the host, and the order for one engine.
func (e Engines) hostAndOrder() (setup.Host, setup.Order, error) {
	host := setup.Host{Root: e.Root, Run: e.Run}
	dir, err := host.At(path.Join(Dir, "backups"))
	if err != nil {
		return host, setup.Order{}, err
	}
	store := backup.New(dir)
	host.Original = store.Original
	return host, setup.Order{
		Setup: engine.Setup{
			Name: setup.DefaultName, Runtime: runtimePath(), Hook: path.Join(Dir, hookName),
			Default: e.Default,
		},
		Store: store,
	}, nil
}

// kubernetesEngines are the engines of the host that Kubernetes may use.
func kubernetesEngines(ctx context.Context, host setup.Host) ([]setup.Engine, error) {
	list, err := host.Found(ctx)
	return slices.DeleteFunc(list, func(e setup.Engine) bool { return e.Name == "podman" }), err
}

// executeOrder carries an order out for one engine. Beside an error it returns what was done
// nevertheless.
func executeOrder(ctx context.Context, host setup.Host, o setup.Order, name string) (setup.Outcome, error) {
	o.Engine = name
	done, err := host.Do(ctx, o)
	if len(done) == 0 {
		return setup.Outcome{}, err
	}
	return done[0], err
}

// installPrograms copies the programs to the host. Each is replaced as a whole.
func (e Engines) installPrograms() error {
	for _, name := range []string{runtimeName, hookName} {
		program, err := os.ReadFile(filepath.Join(e.Programs, name)) //nolint:gosec // G304: fixed names in our image
		var place string
		if err == nil {
			place, err = e.Root.Place(path.Join(Dir, name))
		}
		var changed bool
		if err == nil {
			changed, err = atomicfile.Write(place, program, atomicfile.Options{Perm: 0o755})
		}
		if err != nil {
			return fmt.Errorf("copy %s to the host: %w", name, err)
		}
		if changed {
			e.Log.Info("copied", "program", path.Join(Dir, name))
		}
	}
	return nil
}

func failureReport(reason, message string, args ...any) report.Report {
	return report.Report{Reason: reason, Message: fmt.Sprintf(message, args...)}
}
