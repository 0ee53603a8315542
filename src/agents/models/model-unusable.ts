import { Invalid } from '../../platform/http/problem.js';

/** A model that is not there, or that the organization may not use (422); the detail says which and why. */
export class ModelUnusable extends Invalid {
  constructor(
    readonly model: string,
    readonly reason: string,
    field = 'model',
  ) {
    super(`${field}: "${model.slice(0, 200)}" cannot be used: ${reason}; GET /api/models lists what can`);
  }
}
