// Package hook is what an OCI hook gets from its runtime and what it is told to
// do: the state on its standard input, the container's root that follows from
// it, and a command line with several actions.
//
// What the actions do stands in the packages below this one. Nothing here trusts
// the environment, the working directory or the process id of the state, which
// differ from runtime to runtime.
package hook
