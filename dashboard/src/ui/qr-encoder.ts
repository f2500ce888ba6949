// What is loaded by need only: the one function of the package that the pages use.
export { generate } from 'lean-qr/nano';
