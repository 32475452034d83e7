// SPDX-License-Identifier: Apache-2.0

package enginesetup

import (
	"context"
	"fmt"
	"os"
	"path"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
)

// TakeBack takes out of the engines' files what SetUp wrote, and removes the programs. What a
// container uses stays, and is reported as InUse. An engine is restarted only if metax is its
// default runtime: otherwise it needs none of the runtime that it still knows.
func (e Engines) TakeBack(ctx context.Context) report.Report {
	if _, err := e.Root.Lstat(Dir); err != nil {
		return report.Report{Ready: true}
	}
	host, order, err := e.hostAndOrder()
	if err != nil {
		return failureReport(Failed, "%v", err)
	}
	list, err := kubernetesEngines(ctx, host)
	if err != nil {
		return failureReport(Failed, "%v", err)
	}
	users, err := e.countRuntimeUsers()
	if err != nil {
		return failureReport(Failed, "%v", err)
	}
	order.Setup.Default = false
	for _, engine := range list {
		state, err := engine.State()
		if err != nil {
			return failureReport(Failed, "%s: %v", engine.Name, err)
		}
		if state.Runtimes[order.Setup.Name] != runtimePath() {
			continue
		}
		o := order
		if state.Default == o.Setup.Name {
			if o.Restart, err = e.isEngineRunning(ctx, host, engine); err != nil {
				return failureReport(Failed, "%v", err)
			}
		}
		o.Remove, o.OnlyName = users == 0, users == 0
		if users > 0 && state.Default != o.Setup.Name {
			continue
		}
		done, err := executeOrder(ctx, host, o, engine.Name)
		for _, c := range done.Changes {
			e.Log.Info(c.Action, "engine", engine.Name, "file", c.Path)
		}
		if err != nil {
			return failureReport(RestartNeeded, "%v", err)
		}
	}
	if users > 0 {
		return failureReport(InUse,
			"%d containers were started by %s, so it stays until they have ended; delete their pods, which have runtimeClassName %s, or restart the node", users, runtimePath(), order.Setup.Name)
	}
	if err := e.remove(); err != nil {
		return failureReport(Failed, "%v", err)
	}
	return report.Report{Ready: true}
}

// remove removes Dir. It does not leave the directory above by links.
func (e Engines) remove() error {
	above, err := e.Root.Resolve(protocol.HookDir)
	if err != nil {
		return fmt.Errorf("remove %s: %w", Dir, err)
	}
	root, err := os.OpenRoot(e.Root.Join(above))
	if err == nil {
		defer root.Close()
		err = root.RemoveAll(path.Base(Dir))
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", Dir, err)
	}
	e.Log.Info("removed", "file", Dir)
	return nil
}
