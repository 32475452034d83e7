// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// fill replaces the variables in files: fill FILE... Beside those of the script there are
// BOOT, PID, START, PIDNS, UID and USER, which make the test program the client of a lease.
func fill(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: fill FILE...")
	}
	proc := procfs.New("/proc", -1)
	boot, err := proc.BootID()
	ts.Check(err)
	self, err := proc.Self()
	ts.Check(err)
	account, err := user.Current()
	ts.Check(err)
	values := map[string]string{
		"BOOT": boot, "PID": strconv.Itoa(self.PID), "START": strconv.FormatUint(self.Start, 10),
		"PIDNS": strconv.FormatUint(self.PIDNamespace, 10), "UID": account.Uid, "USER": account.Username,
	}
	for _, file := range args {
		text := os.Expand(ts.ReadFile(file), func(name string) string {
			if v, ok := values[name]; ok {
				return v
			}
			return ts.Getenv(name)
		})
		ts.Check(os.WriteFile(ts.MkAbs(file), []byte(text), 0o644))
		ts.Check(os.Chmod(ts.MkAbs(file), 0o644)) // whatever the umask
	}
}

// opens starts a process that has a device node open until the script ends:
// opens NODE. A node that nothing is behind is replaced by a placeholder.
func opens(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: opens NODE")
	}
	end, err := hold(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Defer(end)
}

// hold is opens; the function that it returns ends the process.
func hold(node string) (end func(), err error) {
	info, err := os.Lstat(node)
	if err != nil {
		return nil, err
	}
	if info.Mode().Type() == fs.ModeDevice|fs.ModeCharDevice {
		root, err := hostfs.New(filepath.Dir(node))
		if err != nil {
			return nil, err
		}
		device, err := root.Device(filepath.Base(node))
		if err != nil {
			return nil, err
		}
		if err := errors.Join(os.Remove(node), os.WriteFile(node, hostfs.Placeholder(device), 0o600)); err != nil {
			return nil, err
		}
	}
	f, err := os.Open(node)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sleep := exec.Command("sleep", "600")
	sleep.Stdin = f
	if err := sleep.Start(); err != nil { // it comes back when sleep runs
		return nil, err
	}
	return func() {
		_ = sleep.Process.Kill()
		_ = sleep.Wait() // it says that it was killed
	}, nil
}

// docker starts a daemon that knows the containers of a file until the script ends: docker
// SOCKET FILE. The file has what the daemon tells of each container when asked for it alone,
// and may change.
func docker(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: docker SOCKET FILE")
	}
	file := ts.MkAbs(args[1])
	listener, err := net.Listen("unix", ts.MkAbs(args[0]))
	ts.Check(err)
	server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		containers, err := inspected(file)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		id, one := strings.CutPrefix(r.URL.Path, "/containers/")
		id, ok := strings.CutSuffix(id, "/json")
		var answer any
		switch {
		case one && ok && containers[id] != nil:
			answer = containers[id]
		case r.URL.Path == "/containers/json":
			list := []any{}
			for id, c := range containers {
				list = append(list, map[string]any{
					"Id": id, "Names": []any{c["Name"]}, "State": c["State"].(map[string]any)["Status"],
					"Labels": c["Config"].(map[string]any)["Labels"],
				})
			}
			answer = list
		case r.URL.Path == "/events":
			return
		default:
			http.NotFound(w, r)
			return
		}
		_ = json.NewEncoder(w).Encode(answer) // the client sees that it is cut short
	})}
	go func() { _ = server.Serve(listener) }() // until it is closed
	ts.Defer(func() { _ = server.Close() })
}

// inspected reads the containers of a file, by ID.
func inspected(file string) (map[string]map[string]any, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var list []map[string]any
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	out := map[string]map[string]any{}
	for _, c := range list {
		out[c["Id"].(string)] = c
	}
	return out, nil
}
