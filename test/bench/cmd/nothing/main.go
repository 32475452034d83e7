// Command nothing ends at once. It stands for the docker client where what comes before the
// client is measured.
package main

func main() {}
