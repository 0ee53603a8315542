import { parse } from 'csv-parse/sync';
import { Tickets } from '../../src/publishing/forms/receiving/tickets.js';
import type { Json } from './client.js';
import type { Person, TestService } from './service.js';
import { form, type Seen, Visitor } from './visitor.js';

let serial = 0;

/** A form that is shared, with the path of its page. */
export type SharedForm = Json & { id: string; at: string };

/** Forms of one workspace, made over the API and filled in on their pages. */
export class Forms {
  readonly visit: Visitor['visit'];

  private constructor(
    readonly service: TestService,
    readonly owner: Person,
    readonly workspace: string,
  ) {
    this.visit = new Visitor(service.url).visit;
  }

  static async in(service: TestService, owner: Person): Promise<Forms> {
    return new Forms(service, owner, await service.workspace(owner));
  }

  private get place(): string {
    return `/api/workspaces/${this.workspace}`;
  }

  async write(path: string, content: string): Promise<void> {
    const { status, body } = await this.owner.client.put(`${this.place}/files/content`, { path, content });
    if (status !== 200) throw new Error(`${path} was not written: ${JSON.stringify(body)}`);
  }

  check = (path: string) => this.owner.client.post(`${this.place}/forms/check`, { path });

  async share(path: string, fields: Json = {}): Promise<SharedForm> {
    const { status, body } = await this.owner.client.post(`${this.place}/forms/share`, { path, ...fields });
    if (status !== 200) throw new Error(`sharing answered ${status}: ${JSON.stringify(body)}`);
    return { ...body, at: new URL(body.url).pathname };
  }

  /** A form of its own with this text, shared. */
  async make(text: string, fields: Json = {}): Promise<SharedForm> {
    const path = `made-${++serial}.form`;
    await this.write(path, text);
    return this.share(path, fields);
  }

  async read({ id }: SharedForm): Promise<Json> {
    return (await this.owner.client.get(`/api/forms/${id}`)).body;
  }

  /** As a page that was opened a minute ago carries it. */
  ticket({ id }: SharedForm, ageMs = 60_000): string {
    return this.service.app.get(Tickets, { strict: false }).issue(id, Date.now() - ageMs).ticket;
  }

  send(made: SharedForm, fields: Json, ticket = this.ticket(made), headers = {}): Promise<Seen> {
    const { headers: own, ...asking } = form({ _ticket: ticket, ...fields });
    return this.visit(made.at, { ...asking, headers: { ...own, ...headers } });
  }

  /** Resolves once nothing waits to be written; nothing tells of it from outside. */
  async written(made: SharedForm, milliseconds = 200_000): Promise<Json> {
    for (const end = Date.now() + milliseconds; ; await new Promise(done => setTimeout(done, 50))) {
      const now = await this.read(made);
      if (now.waiting === 0) return now;
      if (Date.now() > end) throw new Error(`responses still wait: ${JSON.stringify(now)}`);
    }
  }

  text = async (path: string): Promise<string> => new TextDecoder().decode(await this.bytes(path));

  async bytes(path: string): Promise<Buffer> {
    const address = `${this.place}/files/download?path=${encodeURIComponent(path)}`;
    const answer = await this.owner.client.raw('GET', address);
    if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}`);
    return Buffer.from(await answer.arrayBuffer());
  }

  /** The rows of a file for responses. */
  async csv(path: string): Promise<string[][]> {
    return parse(await this.text(path), { relax_column_count: true });
  }
}
