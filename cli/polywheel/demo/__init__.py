"""The parts of `polywheel demo`: the stock installer, the picture of the line, the operators' speed."""
