import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const NGINX = '/usr/sbin/nginx';

/** nginx by `docker/nginx.conf`, but for TLS, names and places, which are those of the test. */
export class Nginx {
  private constructor(
    private readonly child: ChildProcess,
    private readonly folder: string,
  ) {}

  static async start(
    port: number,
    { service, dataDir }: { service: number; dataDir: string },
  ): Promise<Nginx> {
    if (!existsSync(NGINX))
      throw new Error(`This test needs ${NGINX}: install it with "apt-get install nginx"`);
    const folder = mkdtempSync(path.join(tmpdir(), 'atelier-nginx-'));
    writeFileSync(path.join(folder, 'nginx.conf'), configFor(folder, port, service, dataDir));
    const child = spawn(NGINX, ['-p', folder, '-c', 'nginx.conf', '-g', 'daemon off;'], { stdio: 'inherit' });
    const nginx = new Nginx(child, folder);
    while (!(await answers(port))) {
      if (child.exitCode !== null) throw new Error('nginx refuses docker/nginx.conf');
      await sleep(20);
    }
    return nginx;
  }

  async stop(): Promise<void> {
    this.child.kill('SIGTERM');
    await once(this.child, 'exit');
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function configFor(folder: string, port: number, service: number, dataDir: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    name => `${name}_temp_path ${folder}/${name};`,
  );
  return readFileSync('docker/nginx.conf', 'utf8')
    .replace(
      'user nginx;',
      `user ${process.getuid?.() === 0 ? 'root' : 'nobody'};\npid ${folder}/pid;\nerror_log stderr error;`,
    )
    .replace(
      'include mime.types;',
      `include /etc/nginx/mime.types;\naccess_log off;\n${temporary.join('\n')}`,
    )
    .replace(/ {2}server \{\n {4}listen 80 default_server;[^}]*\}\n/, '')
    .replaceAll(/listen 443 ssl http2( default_server)?;/g, `listen 127.0.0.1:${port}$1;`)
    .replaceAll(/ *ssl_certificate.*\n/g, '')
    .replaceAll(/server (api|gateway):3000;/g, `server 127.0.0.1:${service};`)
    .replace('*.sites.example.app *.servers.example.app', '*.sites.localhost *.servers.localhost')
    .replace('atelier.example.com share.atelier.example.com', 'localhost share.localhost')
    .replace('alias /data/', `alias ${dataDir}/`);
}

function answers(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
