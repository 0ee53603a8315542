export { doorSource, startDoor } from './door-program.js';
export { DoorClosed, PortRefused, SandboxDoor } from './sandbox-door.js';
