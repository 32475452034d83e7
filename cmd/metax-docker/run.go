// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// run ends in the client; it returns an exit code only where it did not get there, or had only
// to print.
func run(d deps) int {
	w := wrapper{deps: d, messages: messages{stderr: d.Err}}
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
		return 0, printMetadata(w.Out)
	}
	text := w.configure()
	if w.Plugin {
		w.unwrapPlugin()
	}
	w.client = findClient(w.settings.DockerClient)
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
		w.openLog(w.settings.Log, cmd.Options.LogLevel)
	}
	switch {
	case err != nil && errors.Is(err, w.client.err):
		return unusable(err), err
	case err != nil:
		return exitOurs, w.client.withHelp(err, cmd.Verb)
	case starts:
		if s, err := w.openSession(cmd.Global); err == nil { // else the containers are elsewhere
			if err := s.start(cmd); err != nil {
				return exitOurs, err
			}
		}
		return w.finish(cmd, options{})
	}
	return w.runCommand(cmd, text)
}

// runCommand runs a line that is neither compose's nor starts containers: with the GPUs that
// it requests, or as it is. The text is that of the configuration.
func (w *wrapper) runCommand(cmd dockerargs.Command, text []byte) (int, error) {
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

// scan reads the command line; a flag that docker's table does not know is looked up in the
// client's own help.
func (w *wrapper) scan() (dockerargs.Command, error) {
	client := dockerargs.Docker()
	cmd, err := dockerargs.Scan(w.Args, client)
	var unknown *dockerargs.UnknownFlagError
	var without *dockerargs.WithoutGPUsError
	if !errors.As(err, &unknown) && !errors.As(err, &without) {
		return cmd, err
	}
	// A client without help is a client whose tables are docker's.
	if w.client.err != nil {
		return cmd, w.client.err
	}
	if text, err := w.output(context.Background(), w.client.path, "run", "--help"); err == nil {
		client.Run = client.Run.Merge(dockerargs.ParseHelp(string(text)))
	}
	if text, err := w.output(context.Background(), w.client.path, "--help"); err == nil {
		client.Global = client.Global.Merge(dockerargs.ParseHelp(string(text)))
	}
	return dockerargs.Scan(w.Args, client)
}
