/** A program as people run it: small and large answers, and sockets that give back what they get. */
const { createHash } = require('node:crypto');
const http = require('node:http');

const large = Buffer.alloc(1024 * 1024, 'x');
http
  .createServer((request, response) => response.end(request.url === '/large' ? large : 'hello world\n'))
  .on('upgrade', (request, socket) => {
    const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const accept = createHash('sha1').update(key).digest('base64');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    socket.on('error', () => socket.destroy()).pipe(socket);
  })
  .listen(Number(process.env.PORT), process.env.HOST ?? '127.0.0.1', () => console.log('ready'));
