import type { Client, Json } from './client.js';
import type { Person, TestService } from './service.js';
import { Visitor } from './visitor.js';

let serial = 0;

/** Sites of one workspace, made and built over the API. */
export class Sites {
  private constructor(
    readonly service: TestService,
    readonly owner: Person,
    readonly workspace: string,
  ) {}

  static async in(service: TestService, owner: Person, workspace?: string): Promise<Sites> {
    return new Sites(service, owner, workspace ?? (await service.workspace(owner)));
  }

  private get client(): Client {
    return this.owner.client;
  }

  async write(path: string, content: string): Promise<void> {
    const { status, body } = await this.client.put(`/api/workspaces/${this.workspace}/files/content`, {
      path,
      content,
    });
    if (status !== 200) throw new Error(`${path} was not written: ${JSON.stringify(body)}`);
  }

  /** A public site of a folder of its own, which is called as its slug, with these files. */
  async make(files: Record<string, string> = { 'index.html': 'one' }, settings: Json = {}): Promise<Json> {
    const slug = `made-${process.pid}-${++serial}`;
    for (const [path, content] of Object.entries(files)) await this.write(`${slug}/${path}`, content);
    const made = await this.client.post('/api/sites', {
      workspace_id: this.workspace,
      name: slug,
      slug,
      folder: slug,
      ...settings,
    });
    if (made.status !== 200) throw new Error(`no site was made: ${JSON.stringify(made.body)}`);
    await this.client.put(`/api/site-access/${made.body.id}`, { mode: 'public' });
    return made.body;
  }

  async begin({ id }: Json, input: Json = { auto_promote: true }): Promise<Json> {
    const { status, body } = await this.client.post(`/api/sites/${id}/versions`, input);
    if (status !== 202) throw new Error(`the build was not begun: ${status} ${JSON.stringify(body)}`);
    return body;
  }

  async read({ site_id, id }: Json, wait = 0): Promise<Json> {
    return (await this.client.get(`/api/sites/${site_id}/versions/${id}?wait=${wait}`)).body;
  }

  /** The version once its build is over. */
  async ended(version: Json): Promise<Json> {
    for (;;) {
      const now = await this.read(version, 60);
      if (!['queued', 'building'].includes(now.state)) return now;
    }
  }

  async publish(site: Json, input?: Json): Promise<Json> {
    return this.ended(await this.begin(site, input));
  }

  async log({ site_id, id }: Json): Promise<string> {
    const { body } = await this.client.get(`/api/sites/${site_id}/versions/${id}/log`);
    return body.lines.map(({ text }: Json) => text).join('\n');
  }

  /** What the host of a site, or of a version of it, answers. */
  async shown({ slug }: Json, address = '/', version?: number): Promise<string> {
    const host = version === undefined ? slug : `v${version}--${slug}`;
    const { status, text } = await new Visitor(this.service.url).visit(address, {
      host: `${host}.sites.localhost`,
    });
    return status === 200 ? text : `${status}`;
  }
}
