import { Injectable } from '@nestjs/common';

type Count = (workspaceId: string) => Promise<number>;

/** What workspaces have stored outside of their folders: whoever keeps it there says how many bytes it takes. */
@Injectable()
export class StoredElsewhere {
  private readonly counts: Count[] = [];

  add(count: Count): void {
    this.counts.push(count);
  }

  async bytesOf(workspaceId: string): Promise<number> {
    const all = await Promise.all(this.counts.map(count => count(workspaceId)));
    return all.reduce((sum, bytes) => sum + bytes, 0);
  }
}
