// SPDX-License-Identifier: Apache-2.0

// Package shells completes command lines in real shells.
package shells

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Names are the shells.
var Names = []string{"bash", "zsh", "fish"}

// ready is the prompt.
const ready = "ready> "

// prepare are the settings of a shell. $SCRIPT is the completion, and the file $LINE gets
// the line as it stands at Ctrl-X l.
var prepare = map[string]string{
	"bash": `PS1='` + ready + `'
bind 'set enable-bracketed-paste off'
bind 'set show-all-if-ambiguous on'
bind 'set completion-query-items 0'
bind 'set page-completions off'
bind -x '"\C-xl": printf %s "$READLINE_LINE" >"$LINE"'
. "$SCRIPT"
`,
	"zsh": `PS1='` + ready + `' LISTMAX=0
setopt no_list_ambiguous
autoload -U compinit; compinit -D -u
line() { print -rn -- "$BUFFER" >"$LINE" }
zle -N line; bindkey '^Xl' line
. "$SCRIPT"
`,
}

// Complete presses Tab behind a command line. It returns the line after that, and all that
// the shell has written to its terminal, such as a list of candidates. Of fish, whose own
// command for it needs no terminal, both are the candidates. The test is skipped without
// the shell.
func Complete(t *testing.T, shell, script, line string) (completed, written string) {
	t.Helper()
	program, err := exec.LookPath(shell)
	if err != nil {
		t.Skip("needs", shell)
	}
	dir := t.TempDir()
	file, result := filepath.Join(dir, "script"), filepath.Join(dir, "line")
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir, "TERM=dumb", "SCRIPT="+file, "LINE="+result, "HISTFILE=")
	if shell == "fish" {
		cmd := exec.Command(program, "--no-config", "-c", `source $SCRIPT; complete -C "$argv"`, line)
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out), string(out)
	}
	rc := filepath.Join(dir, ".zshrc")
	if err := os.WriteFile(rc, []byte(prepare[shell]), 0o644); err != nil {
		t.Fatal(err)
	}
	start := map[string]string{"bash": "bash --noprofile --rcfile " + rc + " -i", "zsh": "zsh -d -i"}[shell]
	cmd := exec.CommandContext(t.Context(), "script", "--quiet", "--flush", "--command", start, "/dev/null") // gives it a terminal
	cmd.Env = append(env, "ZDOTDIR="+dir)
	keys, err1 := cmd.StdinPipe()
	screen, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	buffer := make([]byte, 4096)
	typed := false
	for {
		n, err := screen.Read(buffer)
		all.Write(buffer[:n])
		if err != nil {
			break
		}
		if !typed && strings.Contains(all.String(), ready) {
			typed = true
			if _, err := io.WriteString(keys, line+"\t\x18l\x01\x0bexit\n"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %q", err, all.String())
	}
	text, err := os.ReadFile(result)
	if err != nil {
		t.Fatalf("%v: %q", err, all.String())
	}
	return string(text), all.String()
}
