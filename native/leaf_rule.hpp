// How a leaf's weight follows from its sums of gradients.
#pragma once

namespace hedgerow {

// How a leaf's weight follows from G and H. Most losses take Newton's step. Those of the form
// Σ (B e^(rises·s)/rises + A e^(−falls·s)/falls) are known from G = B − A and H = rises·B + falls·A
// wherever s goes, so a leaf can take the step that is best: Newton's may be far too long there.
struct LeafRule {
  double falls = 0.0, rises = 0.0;  // both 0: Newton's step

  bool is_newton() const { return falls + rises == 0.0; }
};

// The weight that minimises the loss with the penalties ½λv² + α|v|, by a rule that is not
// Newton's.
double exponential_step(const LeafRule& rule, double G, double H, double reg_lambda,
                        double reg_alpha);

}  // namespace hedgerow
