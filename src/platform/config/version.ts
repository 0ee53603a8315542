/** Version of the service and of its interface. */
export const VERSION = '0.1.0';
