package dockerargs

// composeOptions are metax-docker's options for commands of compose that create
// containers. --dry-run is compose's own flag, and the project states which GPUs are
// requested.
var composeOptions = tableOf("gpus-explain gpus-log-level= gpus-policy= gpus-scope= gpus-share gpus-sizes= gpus-wait= inject=")

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

// composeVerbs are the commands of compose that work on a project's containers.
var composeVerbs = map[string]composeVerb{
	"up":      {role: ComposeMakes, flags: composeMake},
	"create":  {role: ComposeMakes, flags: composeMake},
	"run":     {role: ComposeRuns, flags: composeRun, first: true},
	"start":   {role: ComposeStart, flags: "wait wait-timeout="},
	"restart": {role: ComposeStart, flags: "no-deps timeout,t="},
	"scale":   {role: ComposeMakes, flags: "no-deps"},
	"exec":    {role: ComposeSees, first: true, flags: "detach,d env,e= index= interactive,i no-TTY,T no-tty privileged tty,t user,u= workdir,w="},
	"attach":  {role: ComposeSees, first: true, flags: "detach-keys= index= no-stdin sig-proxy"},
	"cp":      {role: ComposeSees, first: true, flags: "all archive,a follow-link,L index="},
	"port":    {role: ComposeSees, first: true, flags: "index= protocol="},
	"down":    {role: ComposeSees, flags: "remove-orphans rmi= timeout,t= volumes,v"},
	"events":  {role: ComposeSees, flags: "json since= until="},
	"images":  {role: ComposeSees, flags: "format= quiet,q"},
	"kill":    {role: ComposeSees, flags: "remove-orphans signal,s="},
	"logs":    {role: ComposeSees, flags: "follow,f index= no-color no-log-prefix since= tail,n= timestamps,t until="},
	"pause":   {role: ComposeSees},
	"ps":      {role: ComposeSees, flags: "all,a filter= format= no-trunc orphans quiet,q services status="},
	"rm":      {role: ComposeSees, flags: "all,a force,f stop,s volumes,v"},
	"stats":   {role: ComposeSees, flags: "all,a format= no-stream no-trunc"},
	"stop":    {role: ComposeSees, flags: "timeout,t="},
	"top":     {role: ComposeSees},
	"unpause": {role: ComposeSees},
	"wait":    {role: ComposeSees, flags: "down-project"},
	"watch":   {role: ComposeMakes, flags: "no-up prune quiet"},
}
