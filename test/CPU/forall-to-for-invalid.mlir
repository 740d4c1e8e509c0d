// RUN: moss-opt %s --moss-forall-to-for --verify-diagnostics

func.func @tensors(%x: tensor<64xf32>) -> tensor<64xf32> {
  // expected-error @+1 {{yields tensors; bufferize it first}}
  %y = scf.forall (%i) in (4) shared_outs(%o = %x) -> (tensor<64xf32>) {
    %s = tensor.extract_slice %o[%i] [16] [1] : tensor<64xf32> to tensor<16xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %o[%i] [16] [1] : tensor<16xf32> into tensor<64xf32>
    }
  }
  return %y : tensor<64xf32>
}
