#!/bin/bash
# Runs vectors.cpp, compiled for x86-64-v4, on an emulated CPU that has AVX-512: for machines without it.
# Takes about two minutes. Debian packages: bochs bochs-term bochsbios vgabios isolinux syslinux-common xorriso
# cpio g++; and KERNEL, any Linux image with a serial console (of linux-image-cloud-amd64: boot/vmlinuz-*).
#
#     tests/kernels/emulate_v4.sh KERNEL
set -euo pipefail
kernel=$(realpath "${1:?usage: emulate_v4.sh KERNEL}")
here=$(realpath "$(dirname "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir -p iso root/dev

# The program is the first process of a system that has nothing else; it writes to the serial port, a file here.
g++ -std=c++17 -O2 -march=x86-64-v4 -static -I"$here/../../kernels/csrc/cpu" "$here/vectors.cpp" -o root/init
mknod root/dev/console c 5 1
(cd root && find . | cpio -o -H newc --quiet) >iso/initrd
cp "$kernel" iso/vmlinuz
cp /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32 iso/
# Bochs 2.7 states the size of the compacted XSAVE area wrongly; without those features Linux does not ask.
cat >iso/isolinux.cfg <<'END'
DEFAULT check
LABEL check
  KERNEL vmlinuz
  APPEND initrd=initrd console=ttyS0 quiet lpj=1000000 noapic nolapic mitigations=off clearcpuid=xsaves,xsavec,pku
END
xorriso -as mkisofs -quiet -o boot.iso -b isolinux.bin -c boot.cat -no-emul-boot -boot-load-size 4 -boot-info-table iso
cat >bochsrc <<END
display_library: term
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/vgabios/vgabios.bin
cpu: model=corei7_skylake_x, ips=100000000
memory: guest=256, host=256
ata0-master: type=cdrom, path=boot.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=serial.txt
log: log.txt
clock: sync=none
END
echo c >go
: >serial.txt
timeout 900 script -qc "bochs -q -f bochsrc -rc go" /dev/null >screen.txt 2>&1 </dev/null &
emulator=$!
trap 'kill $emulator 2>/dev/null; rm -rf "$work"' EXIT
while kill -0 $emulator 2>/dev/null && ! grep -q "Attempted to kill init" serial.txt; do
  sleep 1
done
grep -a -E "lanes|all right|exitcode" serial.txt
grep -q "exitcode=0x00000000" serial.txt
