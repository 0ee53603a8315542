import { seccompFilter } from './seccomp.js';

const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const errno = (number: number): number => 0x00050000 | number;
const [EPERM, ENOSYS, EAFNOSUPPORT] = [errno(1), errno(38), errno(97)];

const auditArchitecture = { x64: 0xc000003e, arm64: 0xc00000b7, i386: 0x40000003, arm: 0x40000028 };

interface Call {
  architecture: keyof typeof auditArchitecture;
  number: number;
  args?: bigint[];
}

/** Runs a filter over one system call, as the kernel would. */
function judge(filter: Buffer, { architecture, number, args = [] }: Call): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number >>> 0, 0);
  data.writeUInt32LE(auditArchitecture[architecture], 4);
  for (const [index, value] of args.entries())
    data.writeBigUInt64LE(BigInt.asUintN(64, value), 16 + 8 * index);
  let accumulator = 0;
  for (let at = 0; ; at++) {
    const [code, operand] = [filter.readUInt16LE(at * 8), filter.readUInt32LE(at * 8 + 4)];
    const jump = (taken: boolean): void => {
      at += filter.readUInt8(at * 8 + (taken ? 2 : 3));
    };
    if (code === 0x20) accumulator = data.readUInt32LE(operand);
    else if (code === 0x15) jump(accumulator === operand);
    else if (code === 0x25) jump(accumulator > operand);
    else if (code === 0x45) jump((accumulator & operand) !== 0);
    else if (code === 0x06) return operand;
    else throw new Error(`unknown instruction ${code}`);
  }
}

const numbers = {
  x64: {
    read: 0,
    ptrace: 101,
    unshare: 272,
    clone: 56,
    clone3: 435,
    ioctl: 16,
    socket: 41,
    socketpair: 53,
    personality: 135,
    memfd: 319,
  },
  arm64: {
    read: 63,
    ptrace: 117,
    unshare: 97,
    clone: 220,
    clone3: 435,
    ioctl: 29,
    socket: 198,
    socketpair: 199,
    personality: 92,
    memfd: 279,
  },
};

describe.each(['x64', 'arm64'] as const)('seccomp filter for %s', architecture => {
  const filter = seccompFilter(architecture);
  const call = numbers[architecture];
  const verdict = (number: number, ...args: bigint[]): number =>
    judge(filter, { architecture, number, args });

  it('lets ordinary calls pass', () => {
    expect(verdict(call.read)).toBe(ALLOW);
    expect(verdict(call.memfd)).toBe(ALLOW);
  });

  it('refuses dangerous calls', () => {
    for (const number of [call.ptrace, call.unshare, 425, 428, 442]) expect(verdict(number)).toBe(EPERM);
  });

  it('knows no calls newer than itself, and no clone3, whose flags it could not see', () => {
    expect(verdict(470)).toBe(ENOSYS);
    expect(verdict(call.clone3)).toBe(ENOSYS);
  });

  it('lets processes and threads be made, but no namespaces', () => {
    expect(verdict(call.clone, 0x3d0f00n)).toBe(ALLOW);
    expect(verdict(call.clone, 17n)).toBe(ALLOW);
    for (const flag of [
      0x20000n,
      0x2000000n,
      0x4000000n,
      0x8000000n,
      0x10000000n,
      0x20000000n,
      0x40000000n,
    ]) {
      expect(verdict(call.clone, flag | 17n)).toBe(EPERM);
    }
  });

  it('refuses typing into terminals, also with high bits set that the kernel does not read', () => {
    expect(verdict(call.ioctl, 0n, 0x5401n)).toBe(ALLOW);
    for (const high of [0n, 1n << 32n, 1n << 63n]) {
      expect(verdict(call.ioctl, 0n, 0x5412n | high)).toBe(EPERM);
      expect(verdict(call.ioctl, 0n, 0x541cn | high)).toBe(EPERM);
    }
  });

  it('lets only the usual personality be set', () => {
    expect(verdict(call.personality, 0n)).toBe(ALLOW);
    expect(verdict(call.personality, 0xffffffffn)).toBe(ALLOW);
    expect(verdict(call.personality, 0x0040000n)).toBe(EPERM);
  });

  it('lets only sockets be opened that a network namespace confines', () => {
    for (const number of [call.socket, call.socketpair]) {
      for (const family of [1n, 2n, 10n]) expect(verdict(number, family, 1n, 0n)).toBe(ALLOW);
      for (const family of [0n, 17n, 31n, 38n, 40n])
        expect(verdict(number, family, 1n, 0n)).toBe(EAFNOSUPPORT);
      expect(verdict(number, 16n, 3n, 0n)).toBe(ALLOW);
      expect(verdict(number, 16n, 3n, 9n)).toBe(EAFNOSUPPORT);
    }
  });

  it('kills callers that speak another ABI', () => {
    const foreign = architecture === 'x64' ? 'i386' : 'arm';
    expect(judge(filter, { architecture: foreign, number: call.read })).toBe(KILL);
  });

  it('refuses memory that no process shows, where it must', () => {
    const strict = seccompFilter(architecture, { refuseUncountedMemory: true });
    expect(judge(strict, { architecture, number: call.memfd })).toBe(EPERM);
    expect(judge(strict, { architecture, number: call.read })).toBe(ALLOW);
  });
});

it('kills callers of the x32 ABI', () => {
  expect(judge(seccompFilter('x64'), { architecture: 'x64', number: 0x40000000 })).toBe(KILL);
});
