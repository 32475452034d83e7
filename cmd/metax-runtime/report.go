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

// report says in one line on standard error why the container does not start,
// and in the low-level runtime's log, which is what engines show.
func (d deps) report(call runc.Call, err error) {
	message := "metax-runtime: " + terminal.Message(err.Error())
	if err := d.log(call, message); err != nil {
		message += " (not in the log of the runtime: " + terminal.Message(err.Error()) + ")"
	}
	fmt.Fprintln(d.Err, message)
}

// log adds an entry to the log file that the engine named, in the format that it
// named.
func (d deps) log(call runc.Call, message string) (err error) {
	// crun takes more than files; those that are none can be found without us.
	path := strings.TrimPrefix(call.Log, "file:")
	if path == "" || path == "/dev/stderr" || strings.HasPrefix(path, "journald:") || strings.HasPrefix(path, "syslog:") {
		return nil
	}
	now := d.Now().UTC().Format(time.RFC3339)
	entry := []byte("time=" + strconv.Quote(now) + " level=error msg=" + strconv.Quote(message))
	if call.LogFormat == "json" {
		if entry, err = json.Marshal(map[string]string{"level": "error", "msg": message, "time": now}); err != nil {
			return err
		}
	}
	// A fifo that nobody reads must not stop us.
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
