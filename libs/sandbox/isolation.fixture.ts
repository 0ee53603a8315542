import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TestWorkspace } from './driver.fixture.js';
import type { Owner, SandboxDriver, SandboxRequest } from './index.js';

/** What tells drivers that isolate apart. */
interface IsolationTraits {
  owner: Owner | undefined;
  /** User and group of a command, as it sees them. */
  inside: Owner;
  /** How many processes a command sees, itself included. */
  processes: number;
}

type SystemCall = [name: keyof typeof numbers, ...args: number[]];

const numbers = {
  ptrace: [101, 117],
  unshare: [272, 97],
  mount: [165, 40],
  keyctl: [250, 219],
  bpf: [321, 280],
  io_uring_setup: [425, 425],
  clone3: [435, 435],
  personality: [135, 92],
} as const;
const [EPERM, ENOSYS, ENOTTY, EAFNOSUPPORT] = ['1', '38', '25', '97'];

/** What hostile code would try; Perl is there to make system calls that no program makes. */
export function itKeepsACommand(sandbox: () => SandboxDriver, traits: IsolationTraits): void {
  const { owner, inside } = traits;
  let workspace: TestWorkspace;

  async function bash(script: string, request: Partial<SandboxRequest> = {}): Promise<string> {
    return (await workspace.bash(script, request)).output;
  }

  /** The errnos with which system calls fail, or ok. */
  async function systemCalls(...calls: SystemCall[]): Promise<string[]> {
    const tries = calls.map(([name, ...args]) => {
      const number = numbers[name][process.arch === 'arm64' ? 1 : 0];
      return `print syscall(${[number, ...args].join(', ')}) == -1 ? $! + 0 : "ok", "\\n"`;
    });
    return (await bash(`perl -e '${tries.join('; ')}'`)).trimEnd().split('\n');
  }

  beforeEach(() => {
    workspace = new TestWorkspace(sandbox, owner);
  });
  afterEach(() => workspace.remove());

  it('from the files of the host', async () => {
    expect(await bash('ls -A /root /home /etc/shadow 2>&1 | grep -vc "No such file"')).toBe('0\n');
    expect(await bash('ls -A /tmp/..; ls -A /tmp /run /dev/shm')).not.toContain('sandbox-spec');
    expect(await bash('cat /etc/passwd')).not.toContain('daemon');
  });

  it('from writing anywhere but to its workspace and its own temporary folders', async () => {
    const places = '/ /usr /usr/bin /etc /dev /run /proc/sys/kernel /bin';
    expect(await bash(`for at in ${places}; do touch $at/new 2>/dev/null && echo $at; done; echo none`)).toBe(
      'none\n',
    );
    expect(await bash('touch /workspace/a /tmp/a /dev/shm/a ~/a && echo all')).toBe('all\n');
  });

  it('from writing to a workspace that is shown to it read-only', async () => {
    await bash('mkdir folder; echo before > folder/file');
    const script =
      'cat folder/file; echo after > folder/file; touch new; rm folder/file; chmod 777 folder; echo over';
    const said = await bash(script, { isReadOnly: true });
    expect(said.match(/Read-only file system/g)).toHaveLength(4);
    // In the middle of a line of errors, perhaps: these are another stream.
    expect(said).toMatch(/before$/m);
    expect(said).toMatch(/over$/m);
    expect(await bash('cat folder/file; ls')).toBe('before\nfolder\n');
  });

  it('from the variables and descriptors of the service', async () => {
    process.env.SANDBOX_SPEC_SECRET = 'secret-of-the-service';
    expect(await bash('cat /proc/*/environ; env')).not.toContain('secret-of-the-service');
    delete process.env.SANDBOX_SPEC_SECRET;
    const descriptors = (await bash('ls -l /proc/self/fd')).split('\n').filter(line => line.includes('->'));
    const others = descriptors.filter(line => !/ [0-2] -> | -> \/dev\/null$| -> \/proc\/\d+\/fd$/.test(line));
    expect(others).toEqual([]);
  });

  it('from seeing its variables in a list of processes', async () => {
    const env = { TOKEN: 'secret-of-the-command' };
    const seen = await bash('cat /proc/*/cmdline | tr "\\0" "\\n"; echo $TOKEN >/dev/null', { env });
    expect(seen).not.toContain('secret-of-the-command');
  });

  it('from the processes of the host', async () => {
    const pids = (await bash('echo /proc/[0-9]*')).split(/\s/).filter(Boolean);
    expect(pids).toContain('/proc/1');
    expect(pids).toHaveLength(traits.processes);
  });

  it('from the network, that of the host itself included', async () => {
    const server = createServer(socket => socket.destroy()).listen(0, '127.0.0.1');
    await new Promise(resolve => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    const said = await bash(
      `echo >/dev/tcp/127.0.0.1/${port} && echo connected; echo >/dev/tcp/1.1.1.1/80 && echo out`,
    );
    server.close();
    expect(said).toMatch(/Connection refused.*Network is unreachable/s);
    expect(said).not.toMatch(/^(connected|out)$/m);
    expect(await bash('cat /proc/net/dev | grep -c :')).toBe('1\n');
  });

  it('from socket families that leave a network namespace', async () => {
    const sockets: [family: number, type: number, protocol: number, answer: string | undefined][] = [
      ...[1, 2].map(family => [family, 1, 0, 'ok'] as [number, number, number, string]),
      [16, 3, 0, 'ok'],
      ...[17, 31, 38, 40].map(family => [family, 1, 0, EAFNOSUPPORT] as [number, number, number, string]),
      [16, 3, 15, EAFNOSUPPORT],
    ];
    const tries = sockets.map(
      ([family, type, protocol]) => `(socket(S, ${family}, ${type}, ${protocol}) ? "ok" : $! + 0)`,
    );
    const said = await bash(`perl -e 'print join("\\n", ${tries.join(', ')})'`);
    expect(said.split('\n')).toEqual(sockets.map(([, , , answer]) => answer));
  });

  it('from system calls that reach further than a program needs', async () => {
    const forbidden = ['ptrace', 'mount', 'keyctl', 'bpf', 'io_uring_setup'] as const;
    const answers = await systemCalls(...forbidden.map(name => [name, 0, 0, 0, 0, 0] as SystemCall));
    expect(answers).toEqual(forbidden.map(() => EPERM));
    expect(await systemCalls(['unshare', 0x10000000], ['personality', 0x0040000], ['clone3', 0, 0])).toEqual([
      EPERM,
      EPERM,
      ENOSYS,
    ]);
    expect(await bash('unshare -Ur true 2>&1; mount -t tmpfs none /tmp 2>&1')).toMatch(
      /not permitted|must be superuser|denied/,
    );
  });

  it('from privileges, now and later', async () => {
    const status = await bash('grep -E "^(Cap|NoNew|Seccomp:|Groups)" /proc/self/status; id -G');
    expect(status).toMatch(/^CapEff:\s+0+$/m);
    expect(status).toMatch(/^CapBnd:\s+0+$/m);
    expect(status).toMatch(/^CapAmb:\s+0+$/m);
    expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
    expect(status).toMatch(/^Seccomp:\s+2$/m);
    expect(status.trimEnd().split('\n').at(-1)).toBe(`${inside.gid}`);
    expect(
      await bash('for p in su sudo passwd; do test -u $(command -v $p) && echo "id" | $p 2>&1; done; id -u'),
    ).toMatch(new RegExp(`${inside.uid}\n$`));
    expect(await bash('cp $(command -v id) id; chmod 4755 id; ./id -u')).toBe(`${inside.uid}\n`);
  });

  it('from a terminal to type into', async () => {
    expect(await bash('echo >/dev/tty')).toMatch(/No such device/);
    expect(await bash('perl -e \'$c = "x"; print ioctl(STDIN, 0x5412, $c) ? "ok" : $! + 0\'')).toMatch(
      new RegExp(`^(${EPERM}|${ENOTTY})$`),
    );
  });

  it('from the files that a link in its workspace names', async () => {
    const outside = mkdtempSync(join(tmpdir(), 'outside-'));
    writeFileSync(join(outside, 'file'), 'untouched');
    await bash(`ln -s ${outside}/file link; echo changed >link; ln -s /etc/passwd users; cat users`);
    expect(readFileSync(join(outside, 'file'), 'utf8')).toBe('untouched');
    rmSync(outside, { recursive: true });
  });

  it('from devices', async () => {
    expect(
      await bash(
        'cd /dev; for d in *; do test -b $d && echo $d; done; ls -d mem kmsg kvm fuse sda* vda* 2>/dev/null; echo none',
      ),
    ).toBe('none\n');
    expect(await bash('mknod disk b 8 0 2>&1')).toMatch(/not permitted/);
  });
}
