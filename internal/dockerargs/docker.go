// SPDX-License-Identifier: Apache-2.0

package dockerargs

// Docker is docker's own client: every flag from 19.03 to 29, also hidden ones, with
// those of create and run in one table. A flag that the installed client lacks does no
// harm, because the client refuses it.
func Docker() Client {
	return Client{Global: dockerGlobal(), Run: dockerRun(), Start: dockerStart()}
}

// dockerGlobal are the flags before the command (docker/cli, cli/flags and cmd/docker).
// -h is deprecated, but accepted.
var dockerGlobal = tableOf(`
	config= context,c= debug,D help,h host,H= log-level,l= tls tlscacert= tlscert= tlskey= tlsverify
	version,v
`)

// dockerStart are the flags of start and of restart.
var dockerStart = tableOf(`
	attach,a checkpoint= checkpoint-dir= detach-keys= help interactive,i signal,s= time= timeout,t=
`)

// dockerRun are the flags of run and create (docker/cli, cli/command/container).
// dns-opt, net and net-alias are old spellings that help does not show. A flag with a
// value always needs it.
var dockerRun = tableOf(`
	add-host= annotation= attach,a= blkio-weight= blkio-weight-device= cap-add= cap-drop=
	cgroup-parent= cgroupns= cidfile= cpu-count= cpu-percent= cpu-period= cpu-quota= cpu-rt-period=
	cpu-rt-runtime= cpu-shares,c= cpus= cpuset-cpus= cpuset-mems= detach,d detach-keys= device=
	device-cgroup-rule= device-read-bps= device-read-iops= device-write-bps= device-write-iops=
	disable-content-trust dns= dns-opt= dns-option= dns-search= domainname= entrypoint= env,e=
	env-file= expose= gpus= group-add= health-cmd= health-interval= health-retries=
	health-start-interval= health-start-period= health-timeout= help hostname,h= init interactive,i
	io-maxbandwidth= io-maxiops= ip= ip6= ipc= isolation= kernel-memory= label,l= label-file= link=
	link-local-ip= log-driver= log-opt= mac-address= memory,m= memory-reservation= memory-swap=
	memory-swappiness= mount= name= net= net-alias= network= network-alias= no-healthcheck
	oom-kill-disable oom-score-adj= pid= pids-limit= platform= privileged publish,p= publish-all,P
	pull= quiet,q read-only restart= rm runtime= security-opt= shm-size= sig-proxy stop-signal=
	stop-timeout= storage-opt= sysctl= tmpfs= tty,t ulimit= umask= use-api-socket user,u= userns=
	uts= volume,v= volume-driver= volumes-from= workdir,w=
`)
