package main

import (
	"fmt"
	"os/exec"
	"runtime/debug"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
)

// helpOf returns what stands before docker's own help; empty for a line that asks for none,
// or for the help of a command that metax-docker leaves alone.
func helpOf(args []string, cmd dockerargs.Command) string {
	global, words := dockerargs.SplitGlobal(args, dockerargs.Docker())
	topic := cmd.Verb
	switch {
	case strings.Join(args, " ") == "-h", global.True("help"):
		return help
	case len(words) == 0 && !global.True("version"):
		return help
	case len(words) == 0:
		return ""
	case words[0] == "help":
		topic = strings.TrimPrefix(strings.Join(words[1:], " "), "container ")
	case !cmd.Flags.True("help"):
		return ""
	}
	switch topic {
	case "", "run", "create":
		return help
	case "start", "restart":
		return helpStart
	case "compose", "compose up", "compose create", "compose run", "compose start", "compose restart":
		return helpCompose
	}
	return ""
}

// version prints the version of docker, which scripts read in the first line, and then ours.
func (w *wrapper) version() (int, error) {
	if w.clientErr == nil {
		docker := exec.Command(w.client, w.Args...)
		docker.Env, docker.Stdout, docker.Stderr = w.Env, w.Out, w.Err
		if err := w.Run(docker); err != nil {
			return exitOurs, fmt.Errorf("run %s: %w", w.client, err)
		}
	}
	fmt.Fprintf(w.Out, "metax-docker version %s\n", ourVersion())
	return unusable(w.clientErr), w.clientErr
}

// buildVersion is set by the linker (Makefile).
var buildVersion string

// ourVersion is the one that the Makefile states, or else the module's.
func ourVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && buildVersion == "" {
		return info.Main.Version
	}
	return buildVersion
}

// help stands before docker's own.
const help = `metax-docker is docker with MetaX GPUs. Options that docker does not have,
for run and create:

  --gpus WHICH           all | N | ID,ID | [ID,ID] | count=N | device=ID,ID
                         ID is an index or a range of them (0-3), a UUID,
                         a PCI address or a serial number;
                         N GPUs are picked so that they belong together;
                         sgpu:UUID is a slice of one (metax-ctk sgpu list)
  --gpus-policy POLICY   spread (compact): the best-linked GPUs;
                         binpack (preserve): GPUs of the best link class that
                         leave the best-linked GPUs for later jobs;
                         weighted:GAIN,LOSS, mtf, first:
                         see metax-ctk pick --help
  --gpus-scope SCOPE     what they must share: link (joined by MetaXLink only),
                         switch (PCIe), numa or node; any, the default, does
                         not limit them
  --gpus-sizes RULE      if N is not 1, 2, 4 or 8: warn, the default, enforce
                         (refuse) or off
  --gpus-explain         say on standard error why these GPUs
  --gpus-log-level LEVEL
                         log what is decided, and why, to standard error or to
                         log.file: off, error, warn or info
  --gpus-share           also take GPUs that are in use; free ones first
  --gpus-wait TIME       wait up to 30s, 10m, 2h for GPUs to come free,
                         first come first served
  --maca[=VERSION]       the host's MXMACA, or that version of it, if the image
                         has none of its own; nothing of the image is run to
                         find that out
  --maca-force[=VERSION]
                         the host's, whatever the image has
  --maca-check HOW       if its MXMACA does not suit the host's driver: warn,
                         the default with --maca, strict (refuse) or off
  --inject WAY           cdi, flags (plain --device options), or auto, the
                         default: CDI where the daemon lists what is given
  --dry-run              print the docker command instead of running it; no
                         lease is taken

--gpus gives no GPU that is in use by a container of any engine, a process or
an earlier run (metax-ctk ps). start and restart take a container's GPUs back,
or fail and name the holder; they also know --gpus-share, --gpus-wait and
--dry-run. compose gives each service its own GPUs. help COMMAND describes both;
--version prints the versions of docker and of metax-docker. docker metax run
is the same, where metax-docker is installed as a plugin of docker.

Example:
  metax-docker run --rm --gpus=4 IMAGE mx-smi -L
  metax-docker run --rm --gpus=1 --maca ubuntu:24.04 mx-smi

Environment: METAX_CTK_DOCKER names another docker-compatible client (podman,
nerdctl); METAX_CTK_GPUS_POLICY, METAX_CTK_GPUS_SCOPE, METAX_CTK_GPUS_SIZES and
METAX_CTK_INJECT set the defaults,
METAX_CTK_GPUS_IGNORE names programs and images that only look at GPUs,
METAX_CTK_MACA_CHECK is --maca-check, METAX_CTK_MACA_DEFAULT=auto is --maca for
every container with GPUs, METAX_CTK_LOG_LEVEL is --gpus-log-level,
METAX_CTK_LOG_FORMAT and METAX_CTK_LOG_FILE say how and where to log,
METAX_CTK_ROOT and METAX_CTK_NODE choose a simulated node.
Exit codes are docker's; 125 also when no such GPUs can be given.

`

// helpStart stands before docker's help of start and restart.
const helpStart = `metax-docker takes the GPUs of the containers back, or fails and names who uses
them. Options that docker does not have, for start and restart:

  --gpus-share           start also if others use the GPUs
  --gpus-wait TIME       wait up to 30s, 10m, 2h for the GPUs to come free
  --dry-run              print the docker command instead of running it

Example:
  metax-docker start --gpus-wait=10m CONTAINER

`

// helpCompose stands before the help of compose.
const helpCompose = `metax-docker compose gives each service that requests GPUs its own, picked
together. A service requests them with capabilities: [gpu] and no driver, under
deploy.resources.reservations.devices or gpus. Options that docker does not have:

  --gpus-wait TIME       wait up to 30s, 10m, 2h for GPUs to come free
  --gpus-share           also take GPUs that are in use; free ones first

for up, create and run also these, which metax-docker run --help describes, and
of which policy, scope and sizes may be options of a service instead:
  --gpus-policy POLICY, --gpus-scope SCOPE, --gpus-sizes RULE, --gpus-explain,
  --inject WAY

The option maca of a service, true, false or a version, is --maca of run.

Example:
  metax-docker compose up --detach --gpus-wait=10m

`
