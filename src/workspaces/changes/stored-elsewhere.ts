import { Injectable } from '@nestjs/common';

/** Bytes of workspaces outside of their folders: features that keep some there register a count. */
@Injectable()
export class StoredElsewhere {
  private readonly counts: ((workspaceId: string) => Promise<number>)[] = [];

  add(count: (workspaceId: string) => Promise<number>): void {
    this.counts.push(count);
  }

  async bytesOf(workspaceId: string): Promise<number> {
    const all = await Promise.all(this.counts.map(count => count(workspaceId)));
    return all.reduce((sum, bytes) => sum + bytes, 0);
  }
}
