// Files that the bundler takes as they are (build.mjs).
declare module '*.css';
declare module '*.md' {
  const page: import('./pages/docs/pages').DocPage;
  export default page;
}
declare module '*/verify/node.mjs' {
  const text: string;
  export default text;
}
declare module '*.py' {
  const text: string;
  export default text;
}
declare module '*.php' {
  const text: string;
  export default text;
}
declare module '*.go' {
  const text: string;
  export default text;
}
declare module '*.java' {
  const text: string;
  export default text;
}
declare module '*.cs' {
  const text: string;
  export default text;
}
