// Package privilege reduces what a process can do: it drops capabilities, closes
// inherited files for programs that it executes, forbids to trace it, and never lets it
// gain any of that back.
package privilege
