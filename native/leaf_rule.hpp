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

// A part η of the best steps, or steps that λ holds back, move the sum of all predictions: of rows
// that are to rise and to fall by the same, those that fall weigh less each time. So all leaves of
// a tree move on together by one more step, after which 1 − η of the tree's slope is left, as if
// the loss were a parabola. With the log link of counts, predictions then add up to the targets.
class CommonStep {
 public:
  CommonStep(const LeafRule& rule, double learning_rate)
      : rule_(rule), learning_rate_(learning_rate) {}

  // A leaf's sums, and the value that it adds.
  void add(double G, double H, double value);
  double step() const;

 private:
  LeafRule rule_;
  double learning_rate_;
  double slope_ = 0.0;                   // where the leaves were
  double rising_ = 0.0, falling_ = 0.0;  // the slope's parts where they are now
};

}  // namespace hedgerow
