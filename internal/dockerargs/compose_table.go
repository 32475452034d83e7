// SPDX-License-Identifier: Apache-2.0

package dockerargs

// composeOptions are metax-docker's options for commands of compose that create
// containers. --dry-run is compose's own flag, and the project states which GPUs are
// requested.
var composeOptions = tableOf(
	"gpus-explain gpus-log-level= gpus-policy= gpus-scope= gpus-share gpus-sizes= gpus-wait= inject=")

// composeStartOptions are those for commands that start existing containers.
var composeStartOptions = tableOf("gpus-log-level= gpus-share gpus-wait=")

// composeProject are compose's flags before its command (docker/compose, cmd/compose);
// recent versions hide some of them.
var composeProject = tableOf(`
	all-resources ansi= compatibility dry-run env-file= file,f= help,h no-ansi parallel= profile=
	progress= project-directory= project-name,p= verbose version,v workdir=
`)

// composeMake are the flags of up and of create.
const composeMake = `
	abort-on-container-exit abort-on-container-failure always-recreate-deps attach= attach-dependencies
	build detach,d exit-code-from= force-recreate menu no-attach= no-build no-color no-deps
	no-log-prefix no-recreate no-start pull= quiet-build quiet-pull remove-orphans renew-anon-volumes,V
	scale= timeout,t= timestamps wait wait-timeout= watch,w yes,y
`

// composeRun are the flags of run.
const composeRun = `
	build cap-add= cap-drop= detach,d entrypoint= env,e= env-from-file= interactive,i label,l= name=
	no-TTY,T no-deps publish,p= pull= quiet,q quiet-build quiet-pull remove-orphans rm service-ports,P
	tty,t use-aliases user,u= volume,v= workdir,w=
`

// composeVerbs are the commands of compose that make or start containers.
var composeVerbs = map[string]composeVerb{
	"up":      {role: ComposeMakes, flags: composeMake},
	"create":  {role: ComposeMakes, flags: composeMake},
	"run":     {role: ComposeRuns, flags: composeRun},
	"start":   {role: ComposeStart, flags: "wait wait-timeout="},
	"restart": {role: ComposeStart, flags: "no-deps timeout,t="},
	"scale":   {role: ComposeMakes, flags: "no-deps"},
	"watch":   {role: ComposeMakes, flags: "no-up prune quiet"},
}
