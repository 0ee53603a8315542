import { Injectable } from '@nestjs/common';
import type { Instance } from './instance.js';

@Injectable()
export class RunningServers {
  private readonly instances = new Map<string, Instance>();

  add(instance: Instance): void {
    this.instances.set(instance.row.id, instance);
  }

  remove({ row }: Instance): void {
    this.instances.delete(row.id);
  }

  find(id: string): Instance | undefined {
    return this.instances.get(id);
  }

  get all(): Instance[] {
    return [...this.instances.values()];
  }

  get count(): number {
    return this.instances.size;
  }
}
