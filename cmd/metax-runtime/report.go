// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/runc"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// reportFailure writes why the container does not start, in one line, to standard error and to
// the low-level runtime's log, which engines show.
func (d deps) reportFailure(call runc.Call, err error) {
	message := "metax-runtime: " + terminal.Message(err.Error())
	if err := d.appendLog(call, "error", message); err != nil {
		message += " (also could not write it to the runtime's log: " + terminal.Message(err.Error()) + ")"
	}
	fmt.Fprintln(d.Err, message)
}

// appendLog adds an entry to the log file that the engine named, in the format that it
// named.
func (d deps) appendLog(call runc.Call, level, message string) (err error) {
	// crun also logs to journald and syslog, which need no entry from us.
	path := strings.TrimPrefix(call.Log, "file:")
	if path == "" || path == "/dev/stderr" || strings.HasPrefix(path, "journald:") || strings.HasPrefix(path, "syslog:") {
		return nil
	}
	now := d.Now().UTC().Format(time.RFC3339)
	entry := []byte("time=" + strconv.Quote(now) + " level=" + level + " msg=" + strconv.Quote(message))
	if call.LogFormat == "json" {
		if entry, err = json.Marshal(map[string]string{"level": level, "msg": message, "time": now}); err != nil {
			return err
		}
	}
	// O_NONBLOCK: a FIFO that nobody reads must not block.
	//nolint:gosec // G304: the engine names the log of its runtime with --log, and runc writes there as well
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0o644)
	if err != nil {
		return err
	}
	if _, err = f.Write(append(entry, '\n')); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
