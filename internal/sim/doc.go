// Package sim makes MetaX nodes that do not exist: the built-in simulated Nodes,
// and the whole host tree of one (sysfs, device nodes, the driver's and MXMACA's
// files), so that every command runs unchanged where there is no GPU.
//
// Reading a tree back is the business of discover, by way of hostfs. Nothing
// here runs or imitates a kernel driver: a simulated device can be seen, not
// computed on.
package sim
