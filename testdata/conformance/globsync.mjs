// Gives Node 20 the fs.globSync that the suite imports and that its client scenarios never call.
import fs from 'node:fs';
import { register } from 'node:module';

const shim = `export * from 'node:fs'; export { default } from 'node:fs';
export function globSync() { throw new Error('no fs.globSync before Node 22'); }`;
const hook = `export const resolve = (name, from, next) => name === 'fs' && from.parentURL?.includes('/conformance-')
  ? { url: ${JSON.stringify('data:text/javascript,' + encodeURIComponent(shim))}, shortCircuit: true } : next(name, from);`;
if (!fs.globSync) register('data:text/javascript,' + encodeURIComponent(hook));
