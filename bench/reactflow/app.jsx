// The same graph, the same card HTML, in React Flow as its documentation builds it: memoised custom nodes, a minimap.
import { memo } from "react";
import { createRoot } from "react-dom/client";
import { Handle, MiniMap, Position, ReactFlow, ReactFlowProvider, useEdgesState, useNodesState, useReactFlow } from "@xyflow/react";
import "@xyflow/react/dist/style.css";

const culls = new URLSearchParams(location.search).has("cull");
const graph = await (await fetch("graph.json")).json();

const Card = memo(({ data }) => (
  <>
    <div style={{ width: data.w, height: data.h }} dangerouslySetInnerHTML={{ __html: data.html }} />
    {data.ins.map((port) => <Handle key={port.name} id={port.name} type="target" position={Position.Left} style={{ top: port.y }} />)}
    {data.outs.map((port) => <Handle key={port.name} id={port.name} type="source" position={Position.Right} style={{ top: port.y }} />)}
  </>
));

const nodeTypes = { card: Card };
const firstNodes = graph.nodes.map((node) => ({ id: node.id, type: "card", position: { x: node.x, y: node.y }, width: node.w, height: node.h, data: node }));
const firstEdges = graph.edges.map((edge) => ({ id: edge.id, source: edge.from, sourceHandle: edge.fp, target: edge.to, targetHandle: edge.tp }));

function Flow() {
  const [nodes, , onNodesChange] = useNodesState(firstNodes);
  const [edges, , onEdgesChange] = useEdgesState(firstEdges);
  window.flow = useReactFlow();
  const ready = () => requestAnimationFrame(() => requestAnimationFrame(() => performance.mark("interactive")));
  return (
    <ReactFlow nodes={nodes} edges={edges} onNodesChange={onNodesChange} onEdgesChange={onEdgesChange} nodeTypes={nodeTypes}
      fitView minZoom={0.02} maxZoom={2} proOptions={{ hideAttribution: true }} onInit={ready}
      onlyRenderVisibleElements={culls}>
      <MiniMap />
    </ReactFlow>
  );
}

createRoot(document.getElementById("flow")).render(<ReactFlowProvider><Flow /></ReactFlowProvider>);

const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));

window.bench = {
  async fit() {
    await window.flow.fitView({ padding: 0.02, minZoom: 0.02, maxZoom: 1 });
    await frames();
  },
  async closeUp(id) {
    const { position, width, height } = window.flow.getNode(id);
    await window.flow.setViewport({ x: innerWidth / 2 - position.x - width / 2, y: innerHeight / 2 - position.y - height / 2, zoom: 1 });
    await frames();
  },
  box: (id) => document.querySelector(`.react-flow__node[data-id="${id}"]`).getBoundingClientRect().toJSON(),
  place: (id) => Object.values(window.flow.getNode(id).position),
  blank: (x, y) => !document.elementFromPoint(x, y)?.closest(".react-flow__node, .react-flow__edge, .react-flow__minimap"),
};
