import { First } from './20261121-first.js';

/** Every migration, oldest first. The name is what the database remembers: never change it. */
export const migrationsList = [{ name: '20261121-first', class: First }];
