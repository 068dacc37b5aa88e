"""The graph of a traced function: values, nodes, passes. It knows declarations, and nothing of tensors or gradients."""
