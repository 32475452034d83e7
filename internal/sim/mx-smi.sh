# What the vendor's tool would print for the GPUs whose render node is there:
# in a container, those that it was given, numbered from 0. Only builtins of a
# POSIX shell are used, so that it runs in any image that has one; but to make
# and remove slices, which is for the host tree that it lies in, takes mkdir
# and rm.

smi=2.2.9
when='Wed Feb 11 16:37:10 2026'
used=826 # MiB, on an idle card

fail() {
	printf 'mx-smi: %s\n' "$1" >&2
	exit 1
}

# The host's root: what comes before the tool's own path, so that the tool of a
# host tree looks at that tree's devices.
case $0 in
/*) self=$0 ;;
*) self=$PWD/${0#./} ;;
esac
case $self in
*"$home/bin/mx-smi") root=${self%"$home/bin/mx-smi"} ;;
*"$home"-*/bin/mx-smi) root=${self%"$home"-*/bin/mx-smi} ;;
*/usr/bin/mx-smi) root=${self%/usr/bin/mx-smi} ;;
*) root= ;;
esac

# gpu RENDER FACT… calls "$visit NUMBER RENDER FACT…" if the GPU can be seen.
# count is then the number of those so far, and seen has a digit for each GPU
# of the host: 1 if it can be seen.
gpu() {
	if [ -e "$root/dev/dri/$1" ]; then
		seen=${seen}1
		"$visit" "$count" "$@"
		count=$((count + 1))
	else
		seen=${seen}0
	fi
}

each() {
	visit=$1 count=0 seen=
	gpus
}

# The arguments of what is visited: NUMBER RENDER MODEL BDF UUID SERIAL MEMORY
# STATE NUMA CPUS CELLS NICCELLS VBIOS. MEMORY is in MiB.

head_line() {
	printf 'mx-smi  version: %s\n' "$smi"
}

banner() {
	head_line
	printf '\n=================== MetaX System Management Interface Log ===================\n'
	printf 'Timestamp                                         : %s\n\n' "$when"
	printf 'Attached GPUs                                     : %s\n' "$attached"
}

list_line() {
	printf '%-9s%-12s%-15s%s (UUID: %s)\n' "GPU#$1" "$3" "$4" "$8" "$5"
	slices "$4" slice_line
}

# slices BDF VISIT calls "VISIT ID DIR" for each sGPU of a GPU.
slices() {
	for part in "$root/sys/bus/pci/devices/$1/sgpu"/sgpu*; do
		if [ -d "$part" ]; then
			"$2" "${part##*/sgpu}" "$part"
		fi
	done
}

slice_line() {
	name= node=
	if [ -r "$2/node_id" ]; then
		read -r node <"$2/node_id"
		read -r name <"$root/sys/class/mxcd/mxcd/layout/nodes/$node/unique_id"
		name=GPU-$name
	elif [ -r "$2/unique_id" ]; then
		read -r name <"$2/unique_id"
	fi
	printf '    %-9s(UUID: %s)\n' "SGPU#$1" "$name"
}

section() {
	printf 'GPU#%s  %s  %s\n' "$1" "$3" "$4"
}

field() {
	printf '    %-42s: %s\n' "$1" "$2"
}

serial_section() {
	section "$@"
	[ -z "$6" ] || field 'Board Serial Number' "$6"
}

hardware_section() {
	section "$@"
	field 'Model Name' "$3"
	if [ "$7" = 0 ]; then
		:
	elif [ $(($7 % 1024)) = 0 ]; then
		field 'Memory Capacity' "$(($7 / 1024))GB"
	else
		field 'Memory Capacity' "${7}MB"
	fi
	[ -z "$6" ] || field 'Board Serial Number' "$6"
}

version_section() {
	section "$@"
	[ -z "${13}" ] || field 'BIOS Version' "${13}"
	field 'Driver Version' "$driver"
}

# The table has one version for all cards.
find_bios() {
	bios=${bios:-${13}}
}

memory_section() {
	section "$@"
	printf '    Memory\n'
	[ "$7" = 0 ] || field '    vis_vram total' "$(($7 * 1024)) KB"
	field '    vis_vram used' "$((used * 1024)) KB"
	[ "$7" = 0 ] || field '    vram total' "$(($7 * 1024)) KB"
	field '    vram used' "$((used * 1024)) KB"
}

usage_section() {
	section "$@"
	field 'GPU' '0 %'
}

temperature_section() {
	section "$@"
	field 'hotspot' '35.00 C'
}

power_section() {
	section "$@"
	field 'Total' '57.00 W'
}

sections() {
	banner
	each "$1"
	printf '\nEnd of Log\n'
}

# cells prints, of a word for each GPU of the host, those of the GPUs that can
# be seen. The words are one argument, to be split.
# shellcheck disable=SC2086
cells() {
	case $all in
	*0*) ;;
	*)
		printf '%-8s' $1
		return
		;;
	esac
	rest=$all
	for cell in $1; do
		case $rest in
		1*) printf '%-8s' "$cell" ;;
		esac
		rest=${rest#?}
	done
}

label() {
	printf '%-8s' "GPU$1"
}

row() {
	label "$1"
	cells "${11}"
	# shellcheck disable=SC2086
	[ -z "$nics" ] || printf '%-8s' ${12}
	printf '%-15s%s\n' "$9" "${10}"
}

nic_label() {
	printf '%-8s' "NIC$card"
	card=$((card + 1))
}

# nic NAME CELLS NICCELLS prints the row of a network card.
nic() {
	printf '%-8s' "NIC$card"
	cells "$2"
	# shellcheck disable=SC2086
	printf '%-8s' $3
	printf '\n'
	card=$((card + 1))
}

nic_name() {
	printf '  NIC%s: %s\n' "$card" "$1"
	card=$((card + 1))
}

meaning() {
	printf '  %-4s = %s\n' "$1" "$2"
}

matrix() {
	banner
	printf 'Device link type matrix\n        '
	each label
	card=0
	if [ -n "$nics" ]; then
		each_nic nic_label
	fi
	printf '%-15s%s\n' 'Node Affinity' 'CPU Affinity'
	each row
	if [ -n "$nics" ]; then
		card=0
		each_nic nic
	fi
	printf '\nLegend:\n'
	each_kind meaning
	if [ -n "$nics" ]; then
		printf '\nNIC Legend:\n'
		card=0
		each_nic nic_name
	fi
}

# The table that the tool prints when it is asked for nothing.
table_entry() {
	case $3 in
	MXC550*) cap=450W ;;
	MXN260*) cap=225W ;;
	*) cap=350W ;;
	esac
	sliced=Disabled word=
	if [ -r "$root/sys/bus/pci/devices/$4/model" ]; then
		read -r word <"$root/sys/bus/pci/devices/$4/model"
	fi
	[ "$word" != sgpu ] || sliced=Enabled
	printf '| %-5s %10s | %-5s %9s | %-19s | %-9s %10s |\n' "$1" "MetaX ${3#MX}" "$1" Off "$4" '0%' "$sliced"
	printf '| %-16s | %-5s %9s | %-19s | %-20s |\n' "57W / $cap" 35C P0 "$used/$7 MiB" "$8"
	printf '%s\n' '+------------------+-----------------+---------------------+----------------------+'
}

table() {
	maca=unknown
	for file in "$root$maca_path/Version.txt" "$root$maca_home/Version.txt"; do
		if [ -r "$file" ]; then
			read -r line <"$file" && maca=${line##*:}
			break
		fi
	done
	bios=
	each find_bios
	banner
	printf '%s\n' '+---------------------------------------------------------------------------------+'
	printf '| %-35s%-44s |\n' "MX-SMI $smi" "Kernel Mode Driver Version: $driver" \
		"MACA Version: $maca" "BIOS Version: ${bios:-unknown}"
	printf '%s\n' '|------------------+-----------------+---------------------+----------------------|' \
		'| Board       Name | GPU   Persist-M | Bus-id              | GPU-Util      sGPU-M |' \
		'| Pwr:Usage/Cap    | Temp       Perf | Memory-Usage        | GPU-State            |' \
		'|==================+=================+=====================+======================|'
	each table_entry
	printf '%s\n' '' \
		'+---------------------------------------------------------------------------------+' \
		'| Process:                                                                        |' \
		'|  GPU                    PID         Process Name                 GPU Memory     |' \
		'|                                                                  Usage(MiB)     |' \
		'|=================================================================================|' \
		'|  no process found                                                               |' \
		'+---------------------------------------------------------------------------------+'
}

usage() {
	printf '%s\n' \
		'mx-smi of a simulated node: no driver is asked, readings are made up.' \
		'' \
		'  mx-smi                     a table of the GPUs' \
		'  mx-smi -L, --list          the GPUs, one a line, with their UUIDs' \
		'  mx-smi topo -m             the link of each pair of GPUs' \
		'  mx-smi topo -n             the same with the network cards' \
		'  mx-smi --show-hwinfo       model, memory capacity and serial number' \
		'  mx-smi --show-memory       memory in KB' \
		'  mx-smi --show-sn           serial numbers' \
		'  mx-smi --show-version      versions of VBIOS and driver' \
		'  mx-smi --show-usage, --show-temperature, --show-board-power' \
		'                             readings of an idle GPU' \
		'  mx-smi sgpu -i GPU ...     --enable, --disable, --set-sched-class 0|1|2,' \
		'                             --create [--vram 4G --compute 5 --alias X -n 1],' \
		'                             --remove ID: change the slices of a host tree' \
		'  mx-smi -v, --version       the version of the tool' \
		'  mx-smi -h, --help          this text'
}

# see finds out which GPUs are there.
see() {
	each :
	all=$seen attached=$count
	[ "$attached" -gt 0 ] || fail 'no MetaX GPU can be seen: /dev/dri has none of their render nodes'
}

case $* in
-h | --help) usage ;;
-v | --version) head_line ;;
'')
	see
	table
	;;
-L | --list)
	see
	head_line
	each list_line
	;;
'topo -m')
	see
	nics=
	matrix
	;;
'topo -n')
	see
	matrix
	;;
--show-hwinfo)
	see
	sections hardware_section
	;;
--show-memory)
	see
	sections memory_section
	;;
--show-sn)
	see
	sections serial_section
	;;
--show-version)
	see
	sections version_section
	;;
--show-usage)
	see
	sections usage_section
	;;
--show-temperature)
	see
	sections temperature_section
	;;
--show-board-power)
	see
	sections power_section
	;;
'sgpu '*)
	shift
	sgpu "$@"
	;;
*) fail "unknown command or option: $* (mx-smi --help lists those that are simulated)" ;;
esac
