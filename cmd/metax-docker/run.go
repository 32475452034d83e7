package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/logfile"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// docker's own exit codes for what goes wrong before the container runs.
const (
	exitOurs          = 125
	exitNotExecutable = 126
	exitNotFound      = 127
)

var errSelf = errors.New("is metax-docker itself")

// deps is everything that the program takes from its surroundings.
type deps struct {
	Args     []string // the words after the program's name
	Plugin   bool     // whether docker runs this program as its plugin
	Env      []string
	Getenv   func(string) string
	Config   string // the configuration; empty is config.Path
	Out, Err io.Writer
	Terminal bool // whether Err is a terminal
	// Mark gives the process the name of one that has leases and is about to become the client.
	Mark func()
	// Exec replaces the process; it returns only if that failed.
	Exec func(path string, argv, env []string) error
	// Run runs another program to its end.
	Run func(*exec.Cmd) error
}

// wrapper is one run of the program.
type wrapper struct {
	deps
	settings  config.Config
	broken    error  // why settings are not those of the file; a command that needs them fails
	client    string // path of the docker-compatible client
	clientErr error  // why there is no client; printing a command needs none
	keeper    assign.Keeper
	leases    []usage.Lease // taken for the command that is about to run
	warnings  terminal.Warnings
	log       *logfile.Log // nil before openLog, and while logging is off
}

// run ends in the client; it returns an exit code only where it did not get
// there, or had only to print.
func run(d deps) int {
	w := wrapper{deps: d}
	code, err := w.run()
	w.endWarnings()
	if err != nil {
		w.log.Error("failed", "error", err.Error(), "exit", code)
		w.say("%v", err)
	}
	return code
}

func (w *wrapper) run() (int, error) {
	if len(w.Args) == 1 && w.Args[0] == metadataCommand {
		return 0, w.printMetadata()
	}
	text := w.configure()
	if w.Plugin {
		w.unwrapPlugin()
	}
	w.client, w.clientErr = w.find()
	if ok, err := w.shell(); err != nil {
		return exitOurs, err
	} else if ok {
		return 0, nil
	}
	defer w.giveBack()
	if global, words := dockerargs.SplitGlobal(w.Args, dockerargs.Docker()); len(words) == 0 && global.True("version") {
		return w.version()
	}
	if code, ours, err := w.compose(); ours {
		return code, err
	}
	cmd, err := w.scan()
	starts := (cmd.Verb == "start" || cmd.Verb == "restart") && !cmd.Flags.Has("help")
	if err != nil || starts || (cmd.Gives() && cmd.HasImage) { // a line without options of metax-docker is not logged
		w.openLog(cmd.Options.LogLevel)
	}
	if err != nil && errors.Is(err, w.clientErr) {
		return unusable(err), err
	} else if err != nil {
		return exitOurs, w.withHelp(err, cmd.Verb)
	}
	if starts {
		if err := w.start(cmd); err != nil {
			return exitOurs, err
		}
		return w.finish(cmd, options{})
	}
	if text := helpOf(w.Args, cmd); text != "" {
		fmt.Fprint(w.Out, text)
		return w.become(cmd.Rewrite())
	}
	if err := w.warnOfEnvironment(cmd, text); err != nil {
		return exitOurs, err
	}
	if typed, meant := dockerargs.Mistyped(w.Args, dockerargs.Docker()); meant != "" {
		w.warn("%q takes no options of metax-docker%s", typed, wording.DidYouMean(meant))
	}
	if !cmd.Gives() || !cmd.HasImage {
		// What is wrong with a line that has no image docker says best.
		return w.become(cmd.Rewrite())
	}
	if w.broken != nil {
		return exitOurs, w.broken
	}
	given, err := w.plan(cmd)
	if err != nil {
		return exitOurs, err
	}
	return w.finish(cmd, given)
}

// configure reads the configuration and returns its text. If that cannot be used, the settings are
// the defaults and those of the environment, for lines that need no others.
func (w *wrapper) configure() []byte {
	path := cmp.Or(w.Config, config.Path)
	text, err := hostfs.ReadOwn(path)
	if err == nil {
		w.settings, err = config.Load(path, text, w.Getenv)
	}
	w.broken = err
	if err != nil {
		text = nil
		w.settings, _ = config.Load(path, nil, w.Getenv) // without a file it cannot fail
	}
	return text
}

// withHelp names the help that lists the options of a refused line; its command is empty if it
// is unknown.
func (w *wrapper) withHelp(err error, command string) error {
	name := "metax-docker"
	var unknown *dockerargs.UnknownFlagError
	if errors.As(err, &unknown) && !unknown.Ours() {
		name = w.settings.DockerClient.Text
	}
	mark := ";"
	if strings.HasSuffix(err.Error(), "?") { // it suggests something
		mark = ""
	}
	return fmt.Errorf("%w%s '%s %s --help' lists the options", err, mark, name, cmp.Or(command, "run"))
}

// finish runs the command, or prints it.
func (w *wrapper) finish(cmd dockerargs.Command, given options) (int, error) {
	args := cmd.RewriteWith(given.here, given.last)
	if cmd.Options.DryRun {
		w.endWarnings()
		name := w.settings.DockerClient.Text
		if _, err := fmt.Fprintln(w.Out, dockerargs.Quote(append([]string{name}, args...))); err != nil {
			return exitOurs, fmt.Errorf("print the command: %w", err)
		}
		return 0, nil
	}
	if w.log.On() {
		w.log.Info("become the client", "client", w.client, "outline", outline(cmd, given), "words-behind-image", len(cmd.Rest))
	}
	if cmd.Verb == usage.VerbCreate && w.engine() != "docker" && len(w.leases) > 0 {
		return w.create(args)
	}
	return w.become(args)
}

// create has a client without a daemon make a container. If it fails, nobody else knows that the
// leases are not needed.
func (w *wrapper) create(args []string) (int, error) {
	w.endWarnings()
	if w.clientErr != nil {
		return unusable(w.clientErr), w.clientErr
	}
	if err := w.keeper.Check(w.leases); err != nil {
		return exitOurs, err
	}
	client := exec.Command(w.client, args...)
	client.Env, client.Stdin, client.Stdout, client.Stderr = w.Env, os.Stdin, w.Out, w.Err
	err := w.Run(client)
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return max(failed.ExitCode(), 1), nil // by a signal it is -1
	} else if err != nil {
		return unusable(err), fmt.Errorf("run %s: %w", w.client, err)
	}
	w.leases = nil // the container's
	return 0, nil
}

// find returns the path of the client.
func (w *wrapper) find() (string, error) {
	client := w.settings.DockerClient
	path, err := exec.LookPath(client.Text)
	if err != nil {
		return "", fmt.Errorf("find the docker client %q (from %s): %w; install it, or name another in METAX_CTK_DOCKER", client.Text, client.Origin, err)
	}
	// Installed under the name of docker, we would run ourselves for ever.
	self, err1 := os.Stat("/proc/self/exe")
	other, err2 := os.Stat(path)
	if err1 == nil && err2 == nil && os.SameFile(self, other) {
		return "", fmt.Errorf("the docker client %s (from %s) %w; name docker's path in METAX_CTK_DOCKER", path, client.Origin, errSelf)
	}
	return path, nil
}

// output runs a program and returns what it prints; an error has the last line
// that it says of it.
func (w *wrapper) output(ctx context.Context, path string, args ...string) (string, error) {
	var out, said strings.Builder
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = w.Env, &out, &said
	err := w.Run(cmd)
	if err != nil {
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		err = fmt.Errorf("%s %s: %w: %.300s", filepath.Base(path), strings.Join(args, " "), err, lines[len(lines)-1])
	}
	return out.String(), err
}

// scan reads the command line; a flag that docker's table does not know is
// looked up in the client's own help.
func (w *wrapper) scan() (dockerargs.Command, error) {
	client := dockerargs.Docker()
	cmd, err := dockerargs.Scan(w.Args, client)
	var unknown *dockerargs.UnknownFlagError
	var without *dockerargs.WithoutGPUsError
	if !errors.As(err, &unknown) && !errors.As(err, &without) {
		return cmd, err
	}
	// A client without help is a client whose tables are docker's.
	if w.clientErr != nil {
		return cmd, w.clientErr
	}
	if text, err := w.output(context.Background(), w.client, "run", "--help"); err == nil {
		client.Run = client.Run.Merge(dockerargs.ParseHelp(text))
	}
	if text, err := w.output(context.Background(), w.client, "--help"); err == nil {
		client.Global = client.Global.Merge(dockerargs.ParseHelp(text))
	}
	return dockerargs.Scan(w.Args, client)
}

// become replaces the process by the client, which has the leases then; if it
// does not come to that, they are given back.
func (w *wrapper) become(args []string) (int, error) {
	defer w.giveBack()
	if w.broken != nil {
		w.warn("%v (going on without it)", w.broken)
	}
	w.endWarnings()
	if w.clientErr != nil {
		return unusable(w.clientErr), w.clientErr
	}
	if len(w.leases) > 0 {
		w.Mark() // first: who looks after the Check waits for this process
	}
	if err := w.keeper.Check(w.leases); err != nil {
		return exitOurs, err
	}
	// The client sees the name that it would have had without us.
	argv := append([]string{filepath.Base(w.client)}, args...)
	err := w.Exec(w.client, argv, w.Env)
	return unusable(err), fmt.Errorf("run %s: %w", w.client, err)
}

// unusable is the exit code for a client that cannot be run, for the reason err.
func unusable(err error) int {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound) || errors.Is(err, errSelf) {
		return exitNotFound
	}
	return exitNotExecutable
}
