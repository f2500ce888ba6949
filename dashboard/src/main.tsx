import './styles/main.css';
import { render } from 'preact';

render(<h1>postbackd</h1>, document.getElementById('app')!);
