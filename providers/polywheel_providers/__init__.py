"""What this machine is: facts read off it, and the variant properties they support."""
